// adc opt --passes=distribute-sums
// The sum is done in order, the sines need not be: they are computed first, for 4096 iterations at a time.

func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%r = %zero) -> (f64) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = math.sin %a : f64
    %c = math.exp %b : f64
    %q = arith.addf %r, %c : f64
    scf.yield %q : f64
  }
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %0 = memref.alloc() : memref<4096xf64>
  %c4096 = arith.constant 4096 : index
  %c0_0 = arith.constant 0 : index
  %1 = arith.maxsi %n, %c0_0 : index
  %c0_1 = arith.constant 0 : index
  %2 = arith.ceildivsi %1, %c4096 : index
  %c1_0 = arith.constant 1 : index
  %s = scf.for %block = %c0_1 to %2 step %c1_0 iter_args(%r = %zero) -> (f64) {
    %3 = arith.muli %block, %c4096 : index
    %4 = arith.subi %1, %3 : index
    %5 = arith.minsi %4, %c4096 : index
    %c0_2 = arith.constant 0 : index
    %c1_1 = arith.constant 1 : index
    scf.for %i = %c0_2 to %5 step %c1_1 {
      %6 = arith.addi %i, %3 : index
      %a = memref.load %x[%6] : memref<?xf64>
      %b = math.sin %a : f64
      %c = math.exp %b : f64
      memref.store %c, %0[%i] : memref<4096xf64>
      scf.yield
    }
    %c0_3 = arith.constant 0 : index
    %c1_2 = arith.constant 1 : index
    %7 = scf.for %term = %c0_3 to %5 step %c1_2 iter_args(%arg0 = %r) -> (f64) {
      %8 = memref.load %0[%term] : memref<4096xf64>
      %9 = arith.addf %arg0, %8 : f64
      scf.yield %9 : f64
    }
    scf.yield %7 : f64
  }
  func.return %s : f64
}
