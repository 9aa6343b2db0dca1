// adc opt --passes=canonicalize,insert-deallocs
// An array that is returned in another shape belongs to the caller. One that is freed in another shape is freed once.

func.func @made(%n: index, %a: f64) -> memref<?x?xf64> {
  %c1 = arith.constant 1 : index
  %t = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%a : f64) outs(%t : memref<?xf64>)
  %r = adc.reshape %t[%c1, %n] {groups = [[1, 2]]} : memref<?xf64> to memref<?x?xf64>
  func.return %r : memref<?x?xf64>
}

func.func @f(%n: index, %i: index, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %m = func.call @made(%n, %a) : (index, f64) -> memref<?x?xf64>
  %b = memref.load %m[%c0, %i] : memref<?x?xf64>
  func.return %b : f64
}

func.func @g(%n: index, %i: index, %a: f64) -> f64 {
  %m = func.call @made(%n, %a) : (index, f64) -> memref<?x?xf64>
  %r = adc.reshape %m[%n] {groups = [[2, 1]]} : memref<?x?xf64> to memref<?xf64>
  %b = memref.load %r[%i] : memref<?xf64>
  memref.dealloc %r : memref<?xf64>
  func.return %b : f64
}

// becomes
func.func @made(%n: index, %a: f64) -> memref<?x?xf64> {
  %c1 = arith.constant 1 : index
  %t = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%a : f64) outs(%t : memref<?xf64>)
  %r = adc.reshape %t[%c1, %n] {groups = [[1, 2]]} : memref<?xf64> to memref<?x?xf64>
  func.return %r : memref<?x?xf64>
}

func.func @f(%n: index, %i: index, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %m = func.call @made(%n, %a) : (index, f64) -> memref<?x?xf64>
  %b = memref.load %m[%c0, %i] : memref<?x?xf64>
  memref.dealloc %m : memref<?x?xf64>
  func.return %b : f64
}

func.func @g(%n: index, %i: index, %a: f64) -> f64 {
  %m = func.call @made(%n, %a) : (index, f64) -> memref<?x?xf64>
  %r = adc.reshape %m[%n] {groups = [[2, 1]]} : memref<?x?xf64> to memref<?xf64>
  %b = memref.load %r[%i] : memref<?xf64>
  memref.dealloc %m : memref<?x?xf64>
  func.return %b : f64
}
