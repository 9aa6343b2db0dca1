// adc opt --passes=narrow-columns{few=4}
// The sum of each column stays in a register where there are no more than four columns: these are the outer loop then.

func.func @f(%x: memref<?x?xf64>, %w: memref<?xf64>, %y: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.load %w[%i] : memref<?xf64>
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %s = memref.load %y[%j] : memref<?xf64>
      %c = arith.mulf %a, %b : f64
      %t = arith.addf %s, %c : f64
      memref.store %t, %y[%j] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %w: memref<?xf64>, %y: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.cmpi slt, %c0, %n : index
  %c0_0 = arith.constant 0 : index
  %1 = arith.maxsi %m, %c0_0 : index
  %c4 = arith.constant 4 : index
  %2 = arith.cmpi sle, %1, %c4 : index
  %3 = arith.andi %0, %2 : i1
  scf.if %3 {
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %4 = memref.load %y[%j] : memref<?xf64>
      %5 = scf.for %i = %c0 to %n step %c1 iter_args(%arg0 = %4) -> (f64) {
        %b = memref.load %w[%i] : memref<?xf64>
        %a = memref.load %x[%i, %j] : memref<?x?xf64>
        %c = arith.mulf %a, %b : f64
        %t = arith.addf %arg0, %c : f64
        scf.yield %t : f64
      }
      memref.store %5, %y[%j] : memref<?xf64>
      scf.reduce()
    } {adc.narrow = 4}
    scf.yield
  } else {
    scf.for %i_0 = %c0 to %n step %c1 {
      %b_0 = memref.load %w[%i_0] : memref<?xf64>
      scf.parallel (%j_0) = (%c0) to (%m) step (%c1) {
        %a_0 = memref.load %x[%i_0, %j_0] : memref<?x?xf64>
        %s = memref.load %y[%j_0] : memref<?xf64>
        %c_0 = arith.mulf %a_0, %b_0 : f64
        %t_0 = arith.addf %s, %c_0 : f64
        memref.store %t_0, %y[%j_0] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}
