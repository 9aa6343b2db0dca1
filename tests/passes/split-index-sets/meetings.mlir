// adc opt --passes=split-index-sets,tidy,parallelise
// Each element is made of the one at %k, which iteration %k changes: the loops on either side are independent of it. (Of
// the second it is not proved: %k might be the largest integer.) A loop that ends before %k is left in one piece, and so
// is one that is sequential in any case, and one that fills an array and its transpose, which meet in one iteration.

func.func @f(%d: memref<?xf64>, %m: memref<?x?xf64>, %n: index, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    %e = memref.load %d[%j] : memref<?xf64>
    memref.store %e, %m[%k, %j] : memref<?x?xf64>
    memref.store %e, %m[%j, %k] : memref<?x?xf64>
  }
  scf.for %j = %c0 to %n step %c1 {
    %a = memref.load %d[%j] : memref<?xf64>
    %b = memref.load %d[%k] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    memref.store %s, %d[%j] : memref<?xf64>
  }
  scf.for %j = %c0 to %k step %c1 {
    %a = memref.load %d[%j] : memref<?xf64>
    %b = memref.load %d[%k] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    memref.store %s, %d[%j] : memref<?xf64>
  }
  scf.for %j = %c1 to %n step %c1 {
    %before = arith.subi %j, %c1 : index
    %a = memref.load %d[%before] : memref<?xf64>
    %b = memref.load %d[%k] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    memref.store %s, %d[%j] : memref<?xf64>
  }
  func.return
}

// becomes
func.func @f(%d: memref<?xf64>, %m: memref<?x?xf64>, %n: index, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9223372036854775806 = arith.constant 9223372036854775806 : index
  %c-1 = arith.constant -1 : index
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %e = memref.load %d[%j] : memref<?xf64>
    memref.store %e, %m[%k, %j] : memref<?x?xf64>
    memref.store %e, %m[%j, %k] : memref<?x?xf64>
    scf.reduce()
  } {threads = true}
  %0 = arith.minsi %k, %c9223372036854775806 : index
  %1 = arith.addi %0, %c1 : index
  %2 = arith.minsi %k, %n : index
  scf.parallel (%j_0) = (%c0) to (%2) step (%c1) {
    %a = memref.load %d[%j_0] : memref<?xf64>
    %b = memref.load %d[%k] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    memref.store %s, %d[%j_0] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  %3 = arith.maxsi %k, %c0 : index
  %4 = arith.minsi %1, %n : index
  %5 = arith.cmpi slt, %3, %4 : index
  scf.if %5 {
    %6 = arith.addi %3, %c1 : index
    scf.for %j_1 = %3 to %6 step %c1 {
      %a_0 = memref.load %d[%j_1] : memref<?xf64>
      %b_0 = memref.load %d[%k] : memref<?xf64>
      %s_0 = arith.addf %a_0, %b_0 : f64
      memref.store %s_0, %d[%j_1] : memref<?xf64>
      scf.yield
    }
    scf.yield
  }
  %7 = arith.maxsi %3, %1 : index
  scf.for %j_2 = %7 to %n step %c1 {
    %a_1 = memref.load %d[%j_2] : memref<?xf64>
    %b_1 = memref.load %d[%k] : memref<?xf64>
    %s_1 = arith.addf %a_1, %b_1 : f64
    memref.store %s_1, %d[%j_2] : memref<?xf64>
    scf.yield
  }
  scf.parallel (%j_3) = (%c0) to (%k) step (%c1) {
    %a_2 = memref.load %d[%j_3] : memref<?xf64>
    %b_2 = memref.load %d[%k] : memref<?xf64>
    %s_2 = arith.addf %a_2, %b_2 : f64
    memref.store %s_2, %d[%j_3] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  scf.for %j_4 = %c1 to %n step %c1 {
    %before = arith.addi %j_4, %c-1 : index
    %a_3 = memref.load %d[%before] : memref<?xf64>
    %b_3 = memref.load %d[%k] : memref<?xf64>
    %s_3 = arith.addf %a_3, %b_3 : f64
    memref.store %s_3, %d[%j_4] : memref<?xf64>
    scf.yield
  }
  func.return
}
