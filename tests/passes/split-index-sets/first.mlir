// adc opt --passes=split-index-sets,tidy
// The condition holds in the first iteration alone: that one, and a loop without a branch.

func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%r = %zero) -> (f64) {
    %first = arith.cmpi slt, %i, %c1 : index
    %before = arith.subi %i, %c1 : index
    %at = arith.select %first, %c0, %before : index
    %a = memref.load %x[%at] : memref<?xf64>
    %q = arith.addf %r, %a : f64
    scf.yield %q : f64
  }
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c-1 = arith.constant -1 : index
  %0 = arith.cmpi sgt, %n, %c0 : index
  %s = scf.if %0 -> (f64) {
    %a = memref.load %x[%c0] : memref<?xf64>
    %q = arith.addf %a, %zero : f64
    scf.yield %q : f64
  } else {
    scf.yield %zero : f64
  }
  %s_0 = scf.for %i = %c1 to %n step %c1 iter_args(%r = %s) -> (f64) {
    %before = arith.addi %i, %c-1 : index
    %a_0 = memref.load %x[%before] : memref<?xf64>
    %q_0 = arith.addf %r, %a_0 : f64
    scf.yield %q_0 : f64
  }
  func.return %s_0 : f64
}
