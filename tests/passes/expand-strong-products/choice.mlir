// adc opt --passes=expand-strong-products
// A product that is zero if its first factor is, whatever the second one is (an infinity, say).

func.func @f(%g: f64, %x: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %false = arith.constant false : i1
  %none = arith.cmpf oeq, %g, %zero : f64
  %y = adc.strong_mulf %g, %x, %none, %false : f64
  func.return %y : f64
}

// becomes
func.func @f(%g: f64, %x: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %false = arith.constant false : i1
  %none = arith.cmpf oeq, %g, %zero : f64
  %cst = arith.constant 0.0 : f64
  %cst_0 = arith.constant 1.0 : f64
  %0 = arith.select %none, %cst, %x : f64
  %y = arith.mulf %g, %0 : f64
  func.return %y : f64
}
