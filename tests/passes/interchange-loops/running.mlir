// adc opt --passes=interchange-loops
// A running minimum replaces the element that it is taken with.

func.func @f(%x: memref<?x?xf64> {adc.readonly = true}, %n: index, %m: index, %big: f64) -> memref<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %least = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%big : f64) outs(%least : memref<?xf64>)
  scf.for %c = %c0 to %m step %c1 {
    %s = memref.alloc(%n) : memref<?xf64>
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %a = memref.load %x[%i, %c] : memref<?x?xf64>
      %b = arith.mulf %a, %a : f64
      memref.store %b, %s[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.parallel (%k) = (%c0) to (%n) step (%c1) {
      %l = memref.load %least[%k] : memref<?xf64>
      %t = memref.load %s[%k] : memref<?xf64>
      %y = arith.minimumf %l, %t : f64
      memref.store %y, %least[%k] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return %least : memref<?xf64>
}

// becomes
func.func @f(%x: memref<?x?xf64> {adc.readonly = true}, %n: index, %m: index, %big: f64) -> memref<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %least = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%big : f64) outs(%least : memref<?xf64>)
  %c0_0 = arith.constant 0 : index
  %c1_0 = arith.constant 1 : index
  scf.parallel (%i) = (%c0_0) to (%n) step (%c1_0) {
    %c0_1 = arith.constant 0 : index
    %least_0 = memref.alloc() : memref<1xf64>
    %0 = memref.load %least[%i] : memref<?xf64>
    memref.store %0, %least_0[%c0_1] : memref<1xf64>
    scf.for %c = %c0 to %m step %c1 {
      %s = memref.alloc() : memref<1xf64>
      %a = memref.load %x[%i, %c] : memref<?x?xf64>
      %b = arith.mulf %a, %a : f64
      memref.store %b, %s[%c0_1] : memref<1xf64>
      %l = memref.load %least_0[%c0_1] : memref<1xf64>
      %t = memref.load %s[%c0_1] : memref<1xf64>
      %y = arith.minimumf %l, %t : f64
      memref.store %y, %least_0[%c0_1] : memref<1xf64>
      scf.yield
    }
    %1 = memref.load %least_0[%c0_1] : memref<1xf64>
    memref.store %1, %least[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return %least : memref<?xf64>
}
