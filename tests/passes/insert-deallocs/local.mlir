// adc opt --passes=insert-deallocs
// The array is freed where its use ends.

func.func @f(%n: index, %i: index, %a: f64) -> f64 {
  %t = memref.alloc(%n) : memref<?xf64>
  memref.store %a, %t[%i] : memref<?xf64>
  %b = memref.load %t[%i] : memref<?xf64>
  %c = arith.mulf %b, %b : f64
  func.return %c : f64
}

// becomes
func.func @f(%n: index, %i: index, %a: f64) -> f64 {
  %t = memref.alloc(%n) : memref<?xf64>
  memref.store %a, %t[%i] : memref<?xf64>
  %b = memref.load %t[%i] : memref<?xf64>
  memref.dealloc %t : memref<?xf64>
  %c = arith.mulf %b, %b : f64
  func.return %c : f64
}
