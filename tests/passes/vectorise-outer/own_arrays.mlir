// adc opt --passes=vectorise-outer{lanes=4},tidy
// An array that each iteration makes has one more dimension, along which the lanes are.

func.func @f(%a: memref<?x?xf64>, %out: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f64
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %t = memref.alloc() : memref<3xf64>
    %s = scf.for %j = %c0 to %c3 step %c1 iter_args(%so_far = %zero) -> (f64) {
      %x = memref.load %a[%j, %i] : memref<?x?xf64>
      %y = arith.addf %so_far, %x : f64
      memref.store %y, %t[%j] : memref<3xf64>
      scf.yield %y : f64
    }
    %x = memref.load %t[%c1] : memref<3xf64>
    %y = arith.mulf %s, %x : f64
    memref.store %y, %out[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%a: memref<?x?xf64>, %out: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f64
  %c4 = arith.constant 4 : index
  %0 = arith.maxsi %n, %c0 : index
  %1 = arith.floordivsi %0, %c4 : index
  %2 = arith.ceildivsi %0, %c4 : index
  scf.parallel (%arg0) = (%c0) to (%1) step (%c1) {
    %3 = arith.muli %arg0, %c4 : index
    %4 = memref.alloc() : memref<4xf64>
    %t = memref.alloc() : memref<3x4xf64>
    scf.parallel (%lane) = (%c0) to (%c4) step (%c1) {
      memref.store %zero, %4[%lane] : memref<4xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %j = %c0 to %c3 step %c1 {
      scf.parallel (%lane_0) = (%c0) to (%c4) step (%c1) {
        %5 = arith.addi %3, %lane_0 : index
        %x = memref.load %a[%j, %5] : memref<?x?xf64>
        %6 = memref.load %4[%lane_0] : memref<4xf64>
        %y = arith.addf %6, %x : f64
        memref.store %y, %t[%j, %lane_0] : memref<3x4xf64>
        memref.store %y, %4[%lane_0] : memref<4xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.parallel (%lane_1) = (%c0) to (%c4) step (%c1) {
      %x_0 = memref.load %t[%c1, %lane_1] : memref<3x4xf64>
      %7 = memref.load %4[%lane_1] : memref<4xf64>
      %y_0 = arith.mulf %7, %x_0 : f64
      %8 = arith.addi %3, %lane_1 : index
      memref.store %y_0, %out[%8] : memref<?xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  scf.parallel (%arg1) = (%1) to (%2) step (%c1) {
    %9 = arith.muli %arg1, %c4 : index
    %10 = arith.subi %0, %9 : index
    %11 = memref.alloc() : memref<4xf64>
    %t_0 = memref.alloc() : memref<3x4xf64>
    scf.parallel (%lane_2) = (%c0) to (%c4) step (%c1) {
      memref.store %zero, %11[%lane_2] : memref<4xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %j_0 = %c0 to %c3 step %c1 {
      scf.parallel (%lane_3) = (%c0) to (%c4) step (%c1) {
        %12 = arith.addi %9, %lane_3 : index
        %13 = arith.cmpi slt, %lane_3, %10 : index
        %14 = scf.if %13 -> (f64) {
          %x_1 = memref.load %a[%j_0, %12] : memref<?x?xf64>
          scf.yield %x_1 : f64
        } else {
          scf.yield %zero : f64
        }
        %15 = memref.load %11[%lane_3] : memref<4xf64>
        %y_1 = arith.addf %15, %14 : f64
        memref.store %y_1, %t_0[%j_0, %lane_3] : memref<3x4xf64>
        memref.store %y_1, %11[%lane_3] : memref<4xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.parallel (%lane_4) = (%c0) to (%c4) step (%c1) {
      %x_2 = memref.load %t_0[%c1, %lane_4] : memref<3x4xf64>
      %16 = memref.load %11[%lane_4] : memref<4xf64>
      %y_2 = arith.mulf %16, %x_2 : f64
      %17 = arith.addi %9, %lane_4 : index
      %18 = arith.cmpi slt, %lane_4, %10 : index
      scf.if %18 {
        memref.store %y_2, %out[%17] : memref<?xf64>
        scf.yield
      }
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  func.return
}
