// adc opt "--passes=lower-accumulate{wanted=atomic atomics=true}"
// The same where sums may be added in the order that threads come in.

func.func @loaded(%x: memref<?xf64>, %k: memref<?xindex>, %a: f64, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %at = memref.load %k[%i] : memref<?xindex>
    adc.accumulate %a, %x[%at] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @loaded(%x: memref<?xf64>, %k: memref<?xindex>, %a: f64, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %at = memref.load %k[%i] : memref<?xindex>
    adc.accumulate %a, %x[%at] {atomic = true} : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}
