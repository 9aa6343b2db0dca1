// adc opt --passes=mark-forward
// The operations of the function are marked that make floats, so that what differentiation adds can be told from them.

func.func @f(%x: f64, %n: index) -> f64 {
  %c1 = arith.constant 1 : index
  %m = arith.addi %n, %c1 : index
  %y = math.sin %x : f64
  func.return %y : f64
}

// becomes
func.func @f(%x: f64, %n: index) -> f64 {
  %c1 = arith.constant 1 : index
  %m = arith.addi %n, %c1 : index
  %y = math.sin %x {adc.forward = true} : f64
  func.return %y : f64
}
