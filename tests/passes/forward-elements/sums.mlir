// adc opt --passes=forward-elements,simplify
// Sums along rows that are read once each: no array of them is made.

func.func @f(%x: memref<?x?xf64> {adc.readonly = true}, %n: index, %m: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %t = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %s = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = arith.mulf %a, %a : f64
      scf.reduce(%b : f64) {kinds = ["add"]}
    }
    memref.store %s, %t[%i] : memref<?xf64>
    scf.reduce()
  }
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %s = memref.load %t[%i] : memref<?xf64>
    scf.reduce(%s : f64) {kinds = ["max"]}
  }
  func.return %r : f64
}

// becomes
func.func @f(%x: memref<?x?xf64> {adc.readonly = true}, %n: index, %m: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %s = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = arith.mulf %a, %a : f64
      scf.reduce(%b : f64) {kinds = ["add"]}
    }
    scf.reduce(%s : f64) {kinds = ["max"]}
  }
  func.return %r : f64
}
