// adc opt --passes=fuse-loops,tidy
// Two loops over one range, of which the second one reads what the first one stores in the same iteration, are one.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %z: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = arith.mulf %a, %a : f64
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
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = arith.mulf %a, %a : f64
    memref.store %b, %y[%i] : memref<?xf64>
    %b_0 = arith.addf %b, %b : f64
    memref.store %b_0, %z[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return
}
