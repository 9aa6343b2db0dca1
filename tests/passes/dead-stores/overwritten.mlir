// adc opt --passes=dead-stores
// The first store is overwritten before anything reads it, and nobody ever reads what is in @local.

func.func @overwritten(%x: memref<?xf64>, %i: index, %a: f64, %b: f64) {
  memref.store %a, %x[%i] : memref<?xf64>
  memref.store %b, %x[%i] : memref<?xf64>
  func.return
}

func.func @local(%i: index, %n: index, %a: f64) {
  %t = memref.alloc(%n) : memref<?xf64>
  memref.store %a, %t[%i] : memref<?xf64>
  func.return
}

// becomes
func.func @overwritten(%x: memref<?xf64>, %i: index, %a: f64, %b: f64) {
  memref.store %b, %x[%i] : memref<?xf64>
  func.return
}

func.func @local(%i: index, %n: index, %a: f64) {
  %t = memref.alloc(%n) : memref<?xf64>
  func.return
}
