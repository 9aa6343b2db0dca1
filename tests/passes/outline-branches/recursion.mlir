// adc opt --passes=outline-branches{least=4}
// In a function that calls itself a call costs more than what it saves: the sides stay, unlike those of the
// function that calls it first.

func.func @f(%x: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %more = arith.cmpi sgt, %n, %c0 : index
  scf.if %more {
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%i] : memref<?xf64>
      scf.yield
    }
    %less = arith.subi %n, %c1 : index
    func.call @f(%x, %less) : (memref<?xf64>, index) -> ()
    scf.yield
  } else {
    scf.for %i = %n to %c1 step %c1 {
      %a = memref.load %x[%c0] : memref<?xf64>
      %b = math.cos %a : f64
      memref.store %b, %x[%c0] : memref<?xf64>
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @first(%x: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %more = arith.cmpi sgt, %n, %c0 : index
  scf.if %more {
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%i] : memref<?xf64>
      scf.yield
    }
    %less = arith.subi %n, %c1 : index
    func.call @f(%x, %less) : (memref<?xf64>, index) -> ()
    scf.yield
  } else {
    scf.for %i = %n to %c1 step %c1 {
      %a = memref.load %x[%c0] : memref<?xf64>
      %b = math.cos %a : f64
      memref.store %b, %x[%c0] : memref<?xf64>
      scf.yield
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %more = arith.cmpi sgt, %n, %c0 : index
  scf.if %more {
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%i] : memref<?xf64>
      scf.yield
    }
    %less = arith.subi %n, %c1 : index
    func.call @f(%x, %less) : (memref<?xf64>, index) -> ()
    scf.yield
  } else {
    scf.for %i_0 = %n to %c1 step %c1 {
      %a_0 = memref.load %x[%c0] : memref<?xf64>
      %b_0 = math.cos %a_0 : f64
      memref.store %b_0, %x[%c0] : memref<?xf64>
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @first(%x: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %more = arith.cmpi sgt, %n, %c0 : index
  scf.if %more {
    func.call @first.side(%n, %x) : (index, memref<?xf64>) -> ()
    scf.yield
  } else {
    func.call @first.side_1(%n, %x) : (index, memref<?xf64>) -> ()
    scf.yield
  }
  func.return
}

func.func @first.side(%n: index, %x: memref<?xf64>) attributes {adc.noinline = true, adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = math.sin %a : f64
    memref.store %b, %x[%i] : memref<?xf64>
    scf.yield
  }
  %less = arith.subi %n, %c1 : index
  func.call @f(%x, %less) : (memref<?xf64>, index) -> ()
  func.return
}

func.func @first.side_1(%n: index, %x: memref<?xf64>) attributes {adc.noinline = true, adc.unit = true} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  scf.for %i = %n to %c1 step %c1 {
    %a = memref.load %x[%c0] : memref<?xf64>
    %b = math.cos %a : f64
    memref.store %b, %x[%c0] : memref<?xf64>
    scf.yield
  }
  func.return
}
