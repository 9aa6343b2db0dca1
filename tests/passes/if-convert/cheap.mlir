// adc opt --passes=if-convert
// Two cheap branches are both computed, and one of the results is selected. A branch with a store stays.

func.func @cheap(%x: f64, %which: i1) -> f64 {
  %y = scf.if %which -> (f64) {
    %a = arith.mulf %x, %x : f64
    scf.yield %a : f64
  } else {
    %b = arith.addf %x, %x : f64
    scf.yield %b : f64
  }
  func.return %y : f64
}

func.func @stores(%x: memref<?xf64>, %i: index, %a: f64, %which: i1) {
  scf.if %which {
    memref.store %a, %x[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}

// becomes
func.func @cheap(%x: f64, %which: i1) -> f64 {
  %a = arith.mulf %x, %x : f64
  %b = arith.addf %x, %x : f64
  %y = arith.select %which, %a, %b : f64
  func.return %y : f64
}

func.func @stores(%x: memref<?xf64>, %i: index, %a: f64, %which: i1) {
  scf.if %which {
    memref.store %a, %x[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}
