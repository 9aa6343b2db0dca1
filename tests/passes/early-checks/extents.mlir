// adc opt --passes=early-checks
// That the extents are equal is checked before the first loop, whose effects nobody sees if they are not.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = memref.dim %y, 0 : memref<?xf64>
  %t = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = math.exp %a : f64
    memref.store %b, %t[%i] : memref<?xf64>
    scf.reduce()
  }
  %equal = arith.cmpi eq, %n, %m : index
  adc.assert %equal {error = "ValueError", message = "shapes differ"} : i1
  %r = memref.load %t[%c1] : memref<?xf64>
  func.return %r : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = memref.dim %y, 0 : memref<?xf64>
  %t = memref.alloc(%n) : memref<?xf64>
  %equal = arith.cmpi eq, %n, %m : index
  adc.assert %equal {error = "ValueError", message = "shapes differ"} : i1
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = math.exp %a : f64
    memref.store %b, %t[%i] : memref<?xf64>
    scf.reduce()
  }
  %r = memref.load %t[%c1] : memref<?xf64>
  func.return %r : f64
}
