// adc opt --passes=meld-branches{differentiable=true}
// A product of numbers that vary stays in its branch: its partials may be infinite where the branch is not taken.

func.func @f(%x: f64, %z: f64, %which: i1) -> (f64, f64) {
  %y, %w = scf.if %which -> (f64, f64) {
    %a = arith.mulf %x, %z : f64
    %b = math.exp %a : f64
    %s = arith.addf %x, %z : f64
    %l = math.sqrt %s : f64
    scf.yield %b, %l : f64, f64
  } else {
    %c = math.exp %x : f64
    %r = math.sqrt %z : f64
    scf.yield %c, %r : f64, f64
  }
  func.return %y, %w : f64, f64
}

// becomes
func.func @f(%x: f64, %z: f64, %which: i1) -> (f64, f64) {
  %s = arith.addf %x, %z : f64
  %0 = arith.select %which, %s, %z : f64
  %l = math.sqrt %0 : f64
  %y, %w = scf.if %which -> (f64, f64) {
    %a = arith.mulf %x, %z : f64
    %b = math.exp %a : f64
    scf.yield %b, %l : f64, f64
  } else {
    %c = math.exp %x : f64
    scf.yield %c, %l : f64, f64
  }
  func.return %y, %w : f64, f64
}
