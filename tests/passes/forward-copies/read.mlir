// adc opt --passes=forward-copies
// The copy is read as the original: nothing changes either meanwhile.

func.func @f(%x: memref<?xf64>, %i: index) -> f64 {
  %n = memref.dim %x, 0 : memref<?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %y : memref<?xf64> to memref<?xf64>
  %a = memref.load %y[%i] : memref<?xf64>
  func.return %a : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %i: index) -> f64 {
  %n = memref.dim %x, 0 : memref<?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  %a = memref.load %x[%i] : memref<?xf64>
  func.return %a : f64
}
