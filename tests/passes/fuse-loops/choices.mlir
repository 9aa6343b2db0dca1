// adc opt --passes=fuse-loops,tidy
// A branch that only chooses between cheap values will be a select, and does not keep a loop from others.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %z: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %a, %zero : f64
    %b = scf.if %c -> (f64) {
      %d = arith.mulf %a, %a : f64
      scf.yield %d : f64
    } else {
      scf.yield %zero : f64
    }
    memref.store %b, %y[%i] : memref<?xf64>
    scf.reduce()
  }
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %a = memref.load %y[%j] : memref<?xf64>
    %b = arith.addf %a, %a : f64
    memref.store %b, %z[%j] : memref<?xf64>
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %z: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %a, %zero : f64
    %b = scf.if %c -> (f64) {
      %d = arith.mulf %a, %a : f64
      scf.yield %d : f64
    } else {
      scf.yield %zero : f64
    }
    memref.store %b, %y[%i] : memref<?xf64>
    %b_0 = arith.addf %b, %b : f64
    memref.store %b_0, %z[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return
}
