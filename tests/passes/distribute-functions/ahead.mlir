// adc opt --passes=distribute-functions
// A step needs what the one before it has made, but not for the exponential: those of 256 steps are computed first.

func.func @f(%z: memref<?xf64>, %y: memref<?xf64>, %v: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %n = memref.dim %z, 0 : memref<?xf64>
  %s = scf.for %t = %c0 to %n step %c1 iter_args(%s_0 = %one) -> (f64) {
    %u = memref.load %z[%t] : memref<?xf64>
    %w = arith.mulf %u, %v : f64
    %e = math.exp %w : f64
    %s_1 = arith.mulf %s_0, %e : f64
    %s_2 = arith.addf %s_1, %u : f64
    %own = math.exp %s_2 : f64
    memref.store %own, %y[%t] : memref<?xf64>
    scf.yield %s_2 : f64
  }
  func.return %s : f64
}

// becomes
func.func @f(%z: memref<?xf64>, %y: memref<?xf64>, %v: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %n = memref.dim %z, 0 : memref<?xf64>
  %0 = memref.alloc() : memref<256xf64>
  %c1_0 = arith.constant 1 : index
  %c0_0 = arith.constant 0 : index
  %1 = arith.maxsi %n, %c0_0 : index
  %c256 = arith.constant 256 : index
  %2 = arith.ceildivsi %1, %c256 : index
  %c0_1 = arith.constant 0 : index
  %c1_1 = arith.constant 1 : index
  %s = scf.for %block = %c0_1 to %2 step %c1_1 iter_args(%s_0 = %one) -> (f64) {
    %c256_0 = arith.constant 256 : index
    %3 = arith.muli %block, %c256_0 : index
    %4 = arith.addi %c0, %3 : index
    %5 = arith.subi %n, %4 : index
    %6 = arith.minsi %5, %c256_0 : index
    %7 = arith.addi %4, %6 : index
    %c1_2 = arith.constant 1 : index
    scf.parallel (%x) = (%4) to (%7) step (%c1_2) {
      %u = memref.load %z[%x] : memref<?xf64>
      %w = arith.mulf %u, %v : f64
      %e = math.exp %w : f64
      %8 = arith.subi %x, %4 : index
      memref.store %e, %0[%8] : memref<256xf64>
      scf.reduce()
    }
    %c1_3 = arith.constant 1 : index
    %9 = scf.for %t = %4 to %7 step %c1_3 iter_args(%s_0_0 = %s_0) -> (f64) {
      %10 = arith.subi %t, %4 : index
      %11 = memref.load %0[%10] : memref<256xf64>
      %u_0 = memref.load %z[%t] : memref<?xf64>
      %w_0 = arith.mulf %u_0, %v : f64
      %s_1 = arith.mulf %s_0_0, %11 : f64
      %s_2 = arith.addf %s_1, %u_0 : f64
      %own = math.exp %s_2 : f64
      memref.store %own, %y[%t] : memref<?xf64>
      scf.yield %s_2 : f64
    }
    scf.yield %9 : f64
  }
  func.return %s : f64
}
