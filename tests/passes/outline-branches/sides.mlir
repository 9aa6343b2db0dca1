// adc opt --passes=outline-branches{least=4}
// Sides of branches with loops become functions, of which those that no call takes are never compiled. Branches in
// loops stay unless one side is marked as the usual one, and so do short loops of known length.

func.func @f(%x: memref<?xf64>, %n: index, %first: i1, %second: i1) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f64
  %r = scf.if %first -> (f64) {
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f64) {
      %a = memref.load %x[%i] : memref<?xf64>
      %b = arith.addf %t, %a : f64
      scf.yield %b : f64
    }
    scf.yield %s : f64
  } else {
    scf.for %i = %c0 to %c3 step %c1 {
      %a = memref.load %x[%i] : memref<?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield %zero : f64
  }
  scf.for %j = %c0 to %n step %c1 {
    scf.if %second {
      scf.for %i = %c0 to %n step %c1 {
        %a = memref.load %x[%i] : memref<?xf64>
        %b = math.cos %a : f64
        memref.store %b, %x[%i] : memref<?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.if %first {
      scf.for %i = %c0 to %n step %c1 {
        %a = memref.load %x[%i] : memref<?xf64>
        %b = math.exp %a : f64
        memref.store %b, %x[%i] : memref<?xf64>
        scf.yield
      }
      scf.yield
    } else {
      scf.for %i = %c0 to %n step %c1 {
        memref.store %zero, %x[%i] : memref<?xf64>
        scf.yield
      }
      scf.yield
    } {adc.likely = true}
    scf.yield
  }
  func.return %r : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %n: index, %first: i1, %second: i1) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f64
  %r = scf.if %first -> (f64) {
    %s = func.call @f.side(%n, %x) : (index, memref<?xf64>) -> f64
    scf.yield %s : f64
  } else {
    scf.for %i = %c0 to %c3 step %c1 {
      %a = memref.load %x[%i] : memref<?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield %zero : f64
  }
  scf.for %j = %c0 to %n step %c1 {
    scf.if %second {
      scf.for %i_0 = %c0 to %n step %c1 {
        %a_0 = memref.load %x[%i_0] : memref<?xf64>
        %b_0 = math.cos %a_0 : f64
        memref.store %b_0, %x[%i_0] : memref<?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.if %first {
      scf.for %i_1 = %c0 to %n step %c1 {
        %a_1 = memref.load %x[%i_1] : memref<?xf64>
        %b_1 = math.exp %a_1 : f64
        memref.store %b_1, %x[%i_1] : memref<?xf64>
        scf.yield
      }
      scf.yield
    } else {
      func.call @f.side_1(%n, %x) : (index, memref<?xf64>) -> ()
      scf.yield
    } {adc.likely = true}
    scf.yield
  }
  func.return %r : f64
}

func.func @f.side(%n: index, %x: memref<?xf64>) -> f64 attributes {adc.noinline = true, adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f64) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = arith.addf %t, %a : f64
    scf.yield %b : f64
  }
  func.return %s : f64
}

func.func @f.side_1(%n: index, %x: memref<?xf64>) attributes {adc.noinline = true, adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %x[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}
