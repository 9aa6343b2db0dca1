// adc opt --passes=distribute-functions,tidy
// The function of what a loop inside found is computed in a loop of its own, for 32 iterations at a time.

func.func @f(%x: memref<?x?xf64>, %y: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %s = scf.for %j = %c0 to %m step %c1 iter_args(%r = %zero) -> (f64) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %q = arith.addf %r, %a : f64
      scf.yield %q : f64
    }
    %t = math.tanh %s : f64
    memref.store %t, %y[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %y: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c32 = arith.constant 32 : index
  %0 = arith.maxsi %n, %c0 : index
  %1 = arith.ceildivsi %0, %c32 : index
  scf.parallel (%x_0) = (%c0) to (%1) step (%c1) {
    %2 = arith.muli %x_0, %c32 : index
    %3 = arith.subi %n, %2 : index
    %4 = arith.minsi %3, %c32 : index
    %5 = arith.addi %2, %4 : index
    %6 = memref.alloc() : memref<32xf64>
    scf.parallel (%i) = (%2) to (%5) step (%c1) {
      %s = scf.for %j = %c0 to %m step %c1 iter_args(%r = %zero) -> (f64) {
        %a = memref.load %x[%i, %j] : memref<?x?xf64>
        %q = arith.addf %r, %a : f64
        scf.yield %q : f64
      }
      %7 = arith.subi %i, %2 : index
      memref.store %s, %6[%7] : memref<32xf64>
      scf.reduce()
    }
    scf.parallel (%i_0) = (%2) to (%5) step (%c1) {
      %8 = arith.subi %i_0, %2 : index
      %9 = memref.load %6[%8] : memref<32xf64>
      %t = math.tanh %9 : f64
      memref.store %t, %y[%i_0] : memref<?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}
