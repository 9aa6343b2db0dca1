// adc opt --passes=sink-lanes,tidy
// The exponential is the same in each iteration: it is computed once for eight of them, whose products lie side by side
// in the array that each made for itself. Sums that the inner loop carries are in a buffer; lanes without an iteration
// do not store theirs.

func.func @f(%x: memref<?xf64>, %d: memref<?x?xf64>, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %d, 0 : memref<?x?xf64>
  %m = memref.dim %x, 0 : memref<?xf64>
  scf.parallel (%k) = (%c0) to (%n) step (%c1) {
    %y = memref.alloc(%m) : memref<?xf64>
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%i] : memref<?xf64>
      %e = math.exp %a : f64
      %b = memref.load %d[%k, %i] : memref<?x?xf64>
      %p = arith.mulf %e, %b : f64
      memref.store %p, %y[%i] : memref<?xf64>
      scf.reduce()
    }
    %s = scf.for %j = %c0 to %m step %c1 iter_args(%sum = %zero) -> (f64) {
      %v = memref.load %y[%j] : memref<?xf64>
      %next = arith.addf %sum, %v : f64
      scf.yield %next : f64
    }
    memref.store %s, %out[%k] : memref<?xf64>
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %d: memref<?x?xf64>, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c-1 = arith.constant -1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %d, 0 : memref<?x?xf64>
  %m = memref.dim %x, 0 : memref<?xf64>
  %0 = arith.addi %n, %c-1 : index
  %1 = arith.ceildivsi %n, %c8 : index
  scf.parallel (%block) = (%c0) to (%1) step (%c1) {
    %2 = arith.muli %block, %c8 : index
    %y = memref.alloc(%m) : memref<?x8xf64>
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%i] : memref<?xf64>
      %e = math.exp %a : f64
      scf.parallel (%lane) = (%c0) to (%c8) step (%c1) {
        %3 = arith.addi %2, %lane : index
        %4 = arith.minsi %3, %0 : index
        %b = memref.load %d[%4, %i] : memref<?x?xf64>
        %p = arith.mulf %e, %b : f64
        memref.store %p, %y[%i, %lane] : memref<?x8xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.reduce()
    }
    %5 = memref.alloc() : memref<8xf64>
    scf.parallel (%lane_0) = (%c0) to (%c8) step (%c1) {
      memref.store %zero, %5[%lane_0] : memref<8xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %j = %c0 to %m step %c1 {
      scf.parallel (%lane_1) = (%c0) to (%c8) step (%c1) {
        %v = memref.load %y[%j, %lane_1] : memref<?x8xf64>
        %6 = memref.load %5[%lane_1] : memref<8xf64>
        %next = arith.addf %6, %v : f64
        memref.store %next, %5[%lane_1] : memref<8xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.parallel (%lane_2) = (%c0) to (%c8) step (%c1) {
      %7 = memref.load %5[%lane_2] : memref<8xf64>
      %8 = arith.addi %2, %lane_2 : index
      %9 = arith.minsi %8, %0 : index
      %10 = arith.cmpi sle, %8, %0 : index
      scf.if %10 {
        memref.store %7, %out[%9] : memref<?xf64>
        scf.yield
      }
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  func.return
}
