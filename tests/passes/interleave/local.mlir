// adc opt --passes=vectorise-outer{lanes=8},interleave{lanes=8},tidy
// Each iteration keeps a row of %t for itself. When eight iterations take their steps together, what they keep in one step is
// side by side: element k of row i is at [i / 8, k, i % 8].

func.func @f(%x: memref<?x?xf64>, %w: memref<?xf64>, %v: memref<?xf64>, %y: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %t = memref.alloc(%n, %m) : memref<?x?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %end = scf.for %k = %c0 to %m step %c1 iter_args(%s = %zero) -> (f64) {
      memref.store %s, %t[%i, %k] : memref<?x?xf64>
      %a = memref.load %x[%k, %i] : memref<?x?xf64>
      %b = memref.load %w[%k] : memref<?xf64>
      %c = memref.load %v[%k] : memref<?xf64>
      %d = arith.mulf %s, %b : f64
      %e = arith.mulf %a, %c : f64
      %next = arith.addf %d, %e : f64
      scf.yield %next : f64
    }
    %last = scf.for %k = %c0 to %m step %c1 iter_args(%s = %end) -> (f64) {
      %kept = memref.load %t[%i, %k] : memref<?x?xf64>
      %a = memref.load %x[%k, %i] : memref<?x?xf64>
      %b = memref.load %w[%k] : memref<?xf64>
      %c = memref.load %v[%k] : memref<?xf64>
      %d = arith.mulf %kept, %b : f64
      %e = arith.mulf %a, %c : f64
      %f = arith.addf %d, %e : f64
      %next = arith.addf %s, %f : f64
      scf.yield %next : f64
    }
    memref.store %last, %y[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %w: memref<?xf64>, %v: memref<?xf64>, %y: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c8 = arith.constant 8 : index
  %0 = arith.ceildivsi %n, %c8 : index
  %t = memref.alloc(%0, %m) : memref<?x?x8xf64>
  %1 = arith.maxsi %n, %c0 : index
  %2 = arith.floordivsi %1, %c8 : index
  %3 = arith.muli %2, %c8 : index
  %4 = arith.subi %1, %3 : index
  %5 = arith.minsi %4, %c1 : index
  %6 = arith.addi %2, %5 : index
  scf.parallel (%arg0) = (%c0) to (%2) step (%c1) {
    %7 = arith.muli %arg0, %c8 : index
    %8 = memref.alloc() : memref<8xf64>
    %9 = memref.alloc() : memref<8xf64>
    scf.parallel (%lane) = (%c0) to (%c8) step (%c1) {
      memref.store %zero, %8[%lane] : memref<8xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %k = %c0 to %m step %c1 {
      %b = memref.load %w[%k] : memref<?xf64>
      %c = memref.load %v[%k] : memref<?xf64>
      scf.parallel (%lane_0) = (%c0) to (%c8) step (%c1) {
        %10 = memref.load %8[%lane_0] : memref<8xf64>
        %11 = arith.addi %7, %lane_0 : index
        memref.store %10, %t[%arg0, %k, %lane_0] : memref<?x?x8xf64>
        %a = memref.load %x[%k, %11] : memref<?x?xf64>
        %d = arith.mulf %10, %b : f64
        %e = arith.mulf %a, %c : f64
        %next = arith.addf %d, %e : f64
        memref.store %next, %8[%lane_0] : memref<8xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.parallel (%lane_1) = (%c0) to (%c8) step (%c1) {
      %12 = memref.load %8[%lane_1] : memref<8xf64>
      memref.store %12, %9[%lane_1] : memref<8xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %k_0 = %c0 to %m step %c1 {
      %b_0 = memref.load %w[%k_0] : memref<?xf64>
      %c_0 = memref.load %v[%k_0] : memref<?xf64>
      scf.parallel (%lane_2) = (%c0) to (%c8) step (%c1) {
        %13 = arith.addi %7, %lane_2 : index
        %kept = memref.load %t[%arg0, %k_0, %lane_2] : memref<?x?x8xf64>
        %a_0 = memref.load %x[%k_0, %13] : memref<?x?xf64>
        %d_0 = arith.mulf %kept, %b_0 : f64
        %e_0 = arith.mulf %a_0, %c_0 : f64
        %f = arith.addf %d_0, %e_0 : f64
        %14 = memref.load %9[%lane_2] : memref<8xf64>
        %next_0 = arith.addf %14, %f : f64
        memref.store %next_0, %9[%lane_2] : memref<8xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.parallel (%lane_3) = (%c0) to (%c8) step (%c1) {
      %15 = memref.load %9[%lane_3] : memref<8xf64>
      %16 = arith.addi %7, %lane_3 : index
      memref.store %15, %y[%16] : memref<?xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  scf.parallel (%arg1) = (%2) to (%6) step (%c1) {
    %17 = arith.muli %arg1, %c8 : index
    %18 = memref.alloc() : memref<8xf64>
    %19 = memref.alloc() : memref<8xf64>
    scf.parallel (%lane_4) = (%c0) to (%4) step (%c1) {
      memref.store %zero, %18[%lane_4] : memref<8xf64>
      scf.reduce()
    } {adc.lanes = true, adc.trips = 8}
    scf.for %k_1 = %c0 to %m step %c1 {
      %b_1 = memref.load %w[%k_1] : memref<?xf64>
      %c_1 = memref.load %v[%k_1] : memref<?xf64>
      scf.parallel (%lane_5) = (%c0) to (%4) step (%c1) {
        %20 = memref.load %18[%lane_5] : memref<8xf64>
        %21 = arith.addi %17, %lane_5 : index
        memref.store %20, %t[%arg1, %k_1, %lane_5] : memref<?x?x8xf64>
        %a_1 = memref.load %x[%k_1, %21] : memref<?x?xf64>
        %d_1 = arith.mulf %20, %b_1 : f64
        %e_1 = arith.mulf %a_1, %c_1 : f64
        %next_1 = arith.addf %d_1, %e_1 : f64
        memref.store %next_1, %18[%lane_5] : memref<8xf64>
        scf.reduce()
      } {adc.lanes = true, adc.trips = 8}
      scf.yield
    }
    scf.parallel (%lane_6) = (%c0) to (%4) step (%c1) {
      %22 = memref.load %18[%lane_6] : memref<8xf64>
      memref.store %22, %19[%lane_6] : memref<8xf64>
      scf.reduce()
    } {adc.lanes = true, adc.trips = 8}
    scf.for %k_2 = %c0 to %m step %c1 {
      %b_2 = memref.load %w[%k_2] : memref<?xf64>
      %c_2 = memref.load %v[%k_2] : memref<?xf64>
      scf.parallel (%lane_7) = (%c0) to (%4) step (%c1) {
        %23 = arith.addi %17, %lane_7 : index
        %kept_0 = memref.load %t[%arg1, %k_2, %lane_7] : memref<?x?x8xf64>
        %a_2 = memref.load %x[%k_2, %23] : memref<?x?xf64>
        %d_2 = arith.mulf %kept_0, %b_2 : f64
        %e_2 = arith.mulf %a_2, %c_2 : f64
        %f_0 = arith.addf %d_2, %e_2 : f64
        %24 = memref.load %19[%lane_7] : memref<8xf64>
        %next_2 = arith.addf %24, %f_0 : f64
        memref.store %next_2, %19[%lane_7] : memref<8xf64>
        scf.reduce()
      } {adc.lanes = true, adc.trips = 8}
      scf.yield
    }
    scf.parallel (%lane_8) = (%c0) to (%4) step (%c1) {
      %25 = memref.load %19[%lane_8] : memref<8xf64>
      %26 = arith.addi %17, %lane_8 : index
      memref.store %25, %y[%26] : memref<?xf64>
      scf.reduce()
    } {adc.lanes = true, adc.trips = 8}
    scf.reduce()
  }
  func.return
}
