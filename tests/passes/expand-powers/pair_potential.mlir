// adc opt --passes=expand-powers,cse
// The powers of a pair potential share their squares; a fourth is a root twice, in which
// -0.0 and -infinity are as in C. A power
// whose exponent is not known stays.

func.func @f(%x: f64, %n: index) -> (f64, f64, f64, f64) {
  %six = arith.constant 6 : index
  %minus_twelve = arith.constant -12 : index
  %quarters = arith.constant -1.25 : f64
  %a = math.fpowi %x, %six : f64, index
  %b = math.fpowi %x, %minus_twelve : f64, index
  %c = math.powf %x, %quarters : f64
  %d = math.fpowi %x, %n : f64, index
  func.return %a, %b, %c, %d : f64, f64, f64, f64
}

// becomes
func.func @f(%x: f64, %n: index) -> (f64, f64, f64, f64) {
  %six = arith.constant 6 : index
  %minus_twelve = arith.constant -12 : index
  %quarters = arith.constant -1.25 : f64
  %0 = arith.mulf %x, %x : f64
  %1 = arith.mulf %0, %x : f64
  %a = arith.mulf %1, %1 : f64
  %2 = arith.mulf %a, %a : f64
  %cst = arith.constant 1.0 : f64
  %b = arith.divf %cst, %2 : f64
  %3 = math.absf %x : f64
  %cst_0 = arith.constant 0xFFF0000000000000 : f64
  %4 = arith.cmpf oeq, %x, %cst_0 : f64
  %cst_1 = arith.constant 0x7FF0000000000000 : f64
  %cst_2 = arith.constant 0.0 : f64
  %5 = arith.addf %x, %cst_2 : f64
  %6 = math.sqrt %5 : f64
  %7 = arith.select %4, %cst_1, %6 : f64
  %8 = math.sqrt %7 : f64
  %9 = arith.mulf %3, %8 : f64
  %c = arith.divf %cst, %9 : f64
  %d = math.fpowi %x, %n : f64, index
  func.return %a, %b, %c, %d : f64, f64, f64, f64
}
