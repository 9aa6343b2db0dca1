// adc opt --passes=return-elements,replace-small-arrays,tidy
// @slope returns a new array of two elements: it returns the elements instead.

func.func @f(%a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = func.call @slope(%a) : (f64) -> memref<?xf64>
  %y = memref.load %d[%c0] : memref<?xf64>
  %z = memref.load %d[%c1] : memref<?xf64>
  %s = arith.addf %y, %z : f64
  func.return %s : f64
}

func.func @slope(%a: f64) -> memref<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = memref.alloc(%c2) : memref<?xf64>
  %b = math.sin %a : f64
  %c = math.cos %a : f64
  memref.store %b, %x[%c0] : memref<?xf64>
  memref.store %c, %x[%c1] : memref<?xf64>
  func.return %x : memref<?xf64>
}

// becomes
func.func @f(%a: f64) -> f64 {
  %y, %z = func.call @slope(%a) : (f64) -> (f64, f64)
  %s = arith.addf %y, %z : f64
  func.return %s : f64
}

func.func @slope(%a: f64) -> (f64, f64) {
  %b = math.sin %a : f64
  %c = math.cos %a : f64
  func.return %b, %c : f64, f64
}
