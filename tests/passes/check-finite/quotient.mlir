// adc opt --passes=check-finite
// A quotient that is NaN or infinite raises FloatingPointError.

func.func @f(%x: f64, %y: f64) -> f64 {
  %z = arith.divf %x, %y : f64
  func.return %z : f64
}

// becomes
func.func @f(%x: f64, %y: f64) -> f64 {
  %z = arith.divf %x, %y : f64
  %0 = arith.subf %z, %z : f64
  %cst = arith.constant 0.0 : f64
  %1 = arith.cmpf oeq, %0, %cst : f64
  %2 = arith.subf %x, %x : f64
  %cst_0 = arith.constant 0.0 : f64
  %3 = arith.cmpf oeq, %2, %cst_0 : f64
  %true = arith.constant true : i1
  %4 = arith.xori %3, %true : i1
  %5 = arith.ori %1, %4 : i1
  %6 = arith.subf %y, %y : f64
  %cst_1 = arith.constant 0.0 : f64
  %7 = arith.cmpf oeq, %6, %cst_1 : f64
  %true_0 = arith.constant true : i1
  %8 = arith.xori %7, %true_0 : i1
  %9 = arith.ori %5, %8 : i1
  adc.assert %9, %z {error = "FloatingPointError", message = "the derivative of z is {}, made here by a division"} : i1, f64
  func.return %z : f64
}
