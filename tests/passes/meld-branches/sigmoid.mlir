// adc opt --passes=meld-branches
// The exponential function and the quotient are the same in both branches, of other numbers.

func.func @f(%x: f64, %which: i1) -> f64 {
  %one = arith.constant 1.0 : f64
  %y = scf.if %which -> (f64) {
    %a = arith.negf %x : f64
    %b = math.exp %a : f64
    %c = arith.addf %one, %b : f64
    %d = arith.divf %one, %c : f64
    scf.yield %d : f64
  } else {
    %e = math.exp %x : f64
    %f = arith.addf %one, %e : f64
    %g = arith.divf %e, %f : f64
    scf.yield %g : f64
  }
  func.return %y : f64
}

// becomes
func.func @f(%x: f64, %which: i1) -> f64 {
  %one = arith.constant 1.0 : f64
  %a = arith.negf %x : f64
  %0 = arith.select %which, %a, %x : f64
  %b = math.exp %0 : f64
  %c = arith.addf %one, %b : f64
  %1 = arith.select %which, %one, %b : f64
  %d = arith.divf %1, %c : f64
  %y = scf.if %which -> (f64) {
    scf.yield %d : f64
  } else {
    scf.yield %d : f64
  }
  func.return %y : f64
}
