// adc opt --passes=lower-accumulate
// Each iteration adds to its own element: that is done in place.

func.func @own(%x: memref<?xf64>, %a: f64, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    adc.accumulate %a, %x[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @own(%x: memref<?xf64>, %a: f64, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = memref.load %x[%i] : memref<?xf64>
    %1 = arith.addf %0, %a fastmath<contract> : f64
    memref.store %1, %x[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}
