// adc opt --passes=canonicalize,dce
// Comparisons that were made further out are decided by what is known in a branch, through minima and maxima; a float
// that was an integer's in between is a whole one.

func.func @f(%x: memref<?xf64>, %v: f64, %box: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %end = arith.minsi %n, %c6 : index
  %less = arith.subi %end, %c3 : index
  %count = arith.maxsi %less, %c0 : index
  %three = arith.cmpi eq, %count, %c3 : index
  %two = arith.cmpi slt, %count, %c3 : index
  %enough = arith.cmpi sge, %n, %c8 : index
  %u = arith.divf %v, %box : f64
  %r = math.roundeven %u : f64
  %ri = arith.fptosi %r : f64 to index
  %whole = arith.sitofp %ri : index to f64
  %y = scf.if %enough -> (f64) {
    %a = scf.if %three -> (f64) {
      scf.yield %v : f64
    } else {
      scf.yield %box : f64
    }
    %b = scf.if %two -> (f64) {
      scf.yield %v : f64
    } else {
      scf.yield %whole : f64
    }
    %c = arith.addf %a, %b : f64
    scf.yield %c : f64
  } else {
    %d = scf.if %three -> (f64) {
      %vi = arith.fptosi %v : f64 to index
      %t = arith.sitofp %vi : index to f64
      scf.yield %t : f64
    } else {
      scf.yield %box : f64
    }
    scf.yield %d : f64
  }
  func.return %y : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %v: f64, %box: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %c-3 = arith.constant -3 : index
  %cst = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %end = arith.minsi %n, %c6 : index
  %less = arith.addi %end, %c-3 : index
  %count = arith.maxsi %less, %c0 : index
  %three = arith.cmpi eq, %count, %c3 : index
  %enough = arith.cmpi sge, %n, %c8 : index
  %u = arith.divf %v, %box : f64
  %r = math.roundeven %u : f64
  %whole = arith.addf %r, %cst : f64
  %y = scf.if %enough -> (f64) {
    %c = arith.addf %v, %whole : f64
    scf.yield %c : f64
  } else {
    %d = scf.if %three -> (f64) {
      %0 = math.trunc %v : f64
      %t = arith.addf %0, %cst : f64
      scf.yield %t : f64
    } else {
      scf.yield %box : f64
    }
    scf.yield %d : f64
  }
  func.return %y : f64
}
