// adc opt --passes=pass-elements,replace-small-arrays,tidy
// A copy of @f is made for the calls with three elements. It calls @norm as @f does, whose array becomes elements in both.

func.func @main(%a: f64, %v: memref<?xf64>) -> (f64, f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = memref.alloc(%c2) : memref<?xf64>
  memref.store %a, %x[%c0] : memref<?xf64>
  memref.store %a, %x[%c1] : memref<?xf64>
  %y = func.call @f(%x) : (memref<?xf64>) -> f64
  %z = func.call @f(%x) : (memref<?xf64>) -> f64
  %w = func.call @f(%v) : (memref<?xf64>) -> f64
  func.return %y, %z, %w : f64, f64, f64
}

func.func @f(%x: memref<?xf64> {adc.readonly = true}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = memref.load %x[%c0] : memref<?xf64>
  %b = memref.load %x[%c1] : memref<?xf64>
  %u = memref.alloc(%c2) : memref<?xf64>
  memref.store %b, %u[%c0] : memref<?xf64>
  memref.store %a, %u[%c1] : memref<?xf64>
  %y = func.call @norm(%u) : (memref<?xf64>) -> f64
  func.return %y : f64
}

func.func @norm(%x: memref<?xf64> {adc.readonly = true}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.load %x[%c0] : memref<?xf64>
  %b = memref.load %x[%c1] : memref<?xf64>
  %p = arith.mulf %a, %a : f64
  %q = arith.mulf %b, %b : f64
  %r = arith.addf %p, %q : f64
  func.return %r : f64
}

// becomes
func.func @main(%a: f64, %v: memref<?xf64>) -> (f64, f64, f64) {
  %y = func.call @f.small(%a, %a) : (f64, f64) -> f64
  %z = func.call @f.small(%a, %a) : (f64, f64) -> f64
  %w = func.call @f(%v) : (memref<?xf64>) -> f64
  func.return %y, %z, %w : f64, f64, f64
}

func.func @f(%x: memref<?xf64> {adc.readonly = true}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.load %x[%c0] : memref<?xf64>
  %b = memref.load %x[%c1] : memref<?xf64>
  %y = func.call @norm(%b, %a) : (f64, f64) -> f64
  func.return %y : f64
}

func.func @norm(%x: f64, %x_0: f64) -> f64 {
  %p = arith.mulf %x, %x : f64
  %q = arith.mulf %x_0, %x_0 : f64
  %r = arith.addf %p, %q : f64
  func.return %r : f64
}

func.func @f.small(%x: f64, %x_0: f64) -> f64 {
  %y = func.call @norm(%x_0, %x) : (f64, f64) -> f64
  func.return %y : f64
}
