// adc opt --passes=canonicalize,cse,canonicalize
// A loop that runs at most once is a branch, a shadow has the extents of its array, and what has no elements is not
// filled.

func.func @f(%x: memref<?xf64>, %x_bar: memref<?xf64> {adc.shadow = 0}, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %few = arith.minsi %n, %c1 : index
  %s = scf.for %i = %c0 to %few step %c1 iter_args(%t = %zero) -> (f64) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = arith.addf %t, %a : f64
    scf.yield %b : f64
  }
  %p = scf.parallel (%i) = (%c0) to (%few) step (%c1) init (%s) -> f64 {
    %a = memref.load %x[%i] : memref<?xf64>
    scf.reduce(%a : f64) {kinds = ["max"]}
  }
  %d = memref.dim %x, 0 : memref<?xf64>
  %e = memref.dim %x_bar, 0 : memref<?xf64>
  %left = arith.subi %e, %d : index
  %rest = memref.subview %x_bar[%d][%left][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  linalg.fill ins(%zero : f64) outs(%rest : memref<?xf64, strided<[1], offset: ?>>)
  func.return %p : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %x_bar: memref<?xf64> {adc.shadow = 0}, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %true = arith.constant true : i1
  %false = arith.constant false : i1
  %few = arith.minsi %n, %c1 : index
  %0 = arith.cmpi sgt, %n, %c0 : index
  %s = scf.if %0 -> (f64) {
    %a = memref.load %x[%c0] : memref<?xf64>
    %b = arith.addf %a, %zero : f64
    scf.yield %b : f64
  } else {
    scf.yield %zero : f64
  }
  %p = scf.if %0 -> (f64) {
    %a_0 = memref.load %x[%c0] : memref<?xf64>
    %p_0 = arith.maximumf %s, %a_0 : f64
    scf.yield %p_0 : f64
  } else {
    scf.yield %s : f64
  }
  %d = memref.dim %x, 0 : memref<?xf64>
  %rest = memref.subview %x_bar[%d][%c0][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  func.return %p : f64
}
