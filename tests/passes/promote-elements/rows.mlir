// adc opt --passes=promote-elements
// The element that the inner loop adds to is carried; if that loop may not run, it need not exist.

func.func @f(%x: memref<?x?xf64>, %y: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %y[%i] : memref<?xf64>
      %b = memref.load %x[%i, %j] : memref<?x?xf64>
      %c = arith.addf %a, %b : f64
      memref.store %c, %y[%i] : memref<?xf64>
      scf.yield
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %y: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = arith.cmpi slt, %c0, %m : index
    %1 = scf.if %0 -> (f64) {
      %2 = memref.load %y[%i] : memref<?xf64>
      scf.yield %2 : f64
    } else {
      %cst = arith.constant 0.0 : f64
      scf.yield %cst : f64
    }
    %3 = scf.for %j = %c0 to %m step %c1 iter_args(%arg0 = %1) -> (f64) {
      %b = memref.load %x[%i, %j] : memref<?x?xf64>
      %c = arith.addf %arg0, %b : f64
      scf.yield %c : f64
    }
    scf.if %0 {
      memref.store %3, %y[%i] : memref<?xf64>
      scf.yield
    }
    scf.reduce()
  }
  func.return
}
