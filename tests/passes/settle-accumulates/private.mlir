// adc opt --passes=settle-accumulates
// An addition becomes a load, a sum and a store. A loop that adds to private copies runs in order.

func.func @f(%x: memref<?xf64>, %k: memref<?xindex>, %n: index, %a: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %at = memref.load %k[%i] : memref<?xindex>
    adc.accumulate %a, %x[%at] : memref<?xf64>
    scf.reduce()
  } {adc.private = true}
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %k: memref<?xindex>, %n: index, %a: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %at = memref.load %k[%i] : memref<?xindex>
    %0 = memref.load %x[%at] : memref<?xf64>
    %1 = arith.addf %0, %a fastmath<contract> : f64
    memref.store %1, %x[%at] : memref<?xf64>
    scf.yield
  } {adc.unordered = true}
  func.return
}
