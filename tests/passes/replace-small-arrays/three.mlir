// adc opt --passes=replace-small-arrays,tidy
// An array of three elements, filled by a loop: its elements are values.

func.func @f(%x: memref<?xf64>, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %t = memref.alloc(%c3) : memref<?xf64>
  scf.for %j = %c0 to %c3 step %c1 {
    %b = memref.load %x[%j] : memref<?xf64>
    %c = arith.mulf %a, %b : f64
    memref.store %c, %t[%j] : memref<?xf64>
    scf.yield
  }
  %y = memref.load %t[%c0] : memref<?xf64>
  %z = memref.load %t[%c2] : memref<?xf64>
  %s = arith.addf %y, %z : f64
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = memref.load %x[%c0] : memref<?xf64>
  %c = arith.mulf %a, %b : f64
  %b_0 = memref.load %x[%c2] : memref<?xf64>
  %c_0 = arith.mulf %a, %b_0 : f64
  %s = arith.addf %c, %c_0 : f64
  func.return %s : f64
}
