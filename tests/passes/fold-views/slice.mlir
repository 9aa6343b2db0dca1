// adc opt --passes=fold-views,dce
// An element of x[2:] is one of x.

func.func @f(%x: memref<?xf64>, %i: index) -> f64 {
  %n = memref.dim %x, 0 : memref<?xf64>
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rest = arith.subi %n, %c2 : index
  %tail = memref.subview %x[%c2][%rest][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %y = memref.load %tail[%i] : memref<?xf64, strided<[1], offset: ?>>
  func.return %y : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %i: index) -> f64 {
  %c2 = arith.constant 2 : index
  %0 = arith.addi %c2, %i : index
  %y = memref.load %x[%0] : memref<?xf64>
  func.return %y : f64
}
