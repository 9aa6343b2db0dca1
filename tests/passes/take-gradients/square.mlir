// adc opt --passes=take-gradients,simplify
// @slope asks for the derivative of @square: it calls the gradient, a function that is made here.

func.func @square(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}

func.func @slope(%x: f64) -> f64 {
  %y, %g = adc.gradient @square(%x) {wrt = [0]} : (f64) -> (f64, f64)
  func.return %g : f64
}

// becomes
func.func @slope(%x: f64) -> f64 {
  %y, %g = func.call @square.grad(%x) : (f64) -> (f64, f64)
  func.return %g : f64
}

func.func @square.grad(%x: f64) -> (f64, f64) {
  %y = arith.mulf %x, %x : f64
  %0 = arith.addf %x, %x fastmath<contract> : f64
  func.return %y, %0 : f64, f64
}
