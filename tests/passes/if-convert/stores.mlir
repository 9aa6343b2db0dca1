// adc opt --passes=if-convert
// A branch that stores where its iteration has loaded stores in any case, if no other iteration writes there. Not so where
// the element is that of several iterations, where it may not exist, and in loops that run in order.

func.func @own(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %n: index, %z: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %less = arith.cmpf olt, %a, %z : f64
      scf.if %less {
        %b = arith.addf %a, %z : f64
        memref.store %b, %x[%i, %j] : memref<?x?xf64>
      }
      scf.if %less {
        memref.store %z, %y[%i, %j] : memref<?x?xf64>
      }
    }
  }
  func.return
}

func.func @shared(%x: memref<?xf64>, %n: index, %z: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      %a = memref.load %x[%j] : memref<?xf64>
      %mine = arith.cmpi eq, %i, %j : index
      scf.if %mine {
        memref.store %z, %x[%j] : memref<?xf64>
      }
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    %less = arith.cmpf olt, %a, %z : f64
    scf.if %less {
      memref.store %z, %x[%i] : memref<?xf64>
    }
  }
  func.return
}

func.func @twice(%x: memref<?xf64>, %n: index, %k: index, %z: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%i] : memref<?xf64>
    %less = arith.cmpf olt, %a, %z : f64
    scf.if %less {
      memref.store %z, %x[%i] : memref<?xf64>
    }
    %last = arith.cmpi eq, %i, %k : index
    scf.if %last {
      memref.store %z, %x[%k] : memref<?xf64>
    }
  }
  func.return
}

// becomes
func.func @own(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %n: index, %z: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %less = arith.cmpf olt, %a, %z : f64
      %b = arith.addf %a, %z : f64
      %0 = memref.load %x[%i, %j] : memref<?x?xf64>
      %1 = arith.select %less, %b, %0 : f64
      memref.store %1, %x[%i, %j] : memref<?x?xf64>
      scf.if %less {
        memref.store %z, %y[%i, %j] : memref<?x?xf64>
        scf.yield
      }
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}

func.func @shared(%x: memref<?xf64>, %n: index, %z: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      %a = memref.load %x[%j] : memref<?xf64>
      %mine = arith.cmpi eq, %i, %j : index
      scf.if %mine {
        memref.store %z, %x[%j] : memref<?xf64>
        scf.yield
      }
      scf.reduce()
    }
    scf.reduce()
  }
  scf.for %i_0 = %c0 to %n step %c1 {
    %a_0 = memref.load %x[%i_0] : memref<?xf64>
    %less = arith.cmpf olt, %a_0, %z : f64
    scf.if %less {
      memref.store %z, %x[%i_0] : memref<?xf64>
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @twice(%x: memref<?xf64>, %n: index, %k: index, %z: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%i] : memref<?xf64>
    %less = arith.cmpf olt, %a, %z : f64
    scf.if %less {
      memref.store %z, %x[%i] : memref<?xf64>
      scf.yield
    }
    %last = arith.cmpi eq, %i, %k : index
    scf.if %last {
      memref.store %z, %x[%k] : memref<?xf64>
      scf.yield
    }
    scf.reduce()
  }
  func.return
}
