// adc opt --passes=vectorise-outer{lanes=4},tidy
// A tape with a row for each iteration becomes one of columns if all loops over its rows run side by side; the other has a loop that does not.

func.func @f(%z: memref<?x?xf64>, %z_bar: memref<?x?xf64>, %mid: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %tape = memref.alloc(%n, %m) {adc.tape = true} : memref<?x?xf64>
  %other = memref.alloc(%n, %m) {adc.tape = true} : memref<?x?xf64>
  scf.parallel (%p) = (%c0) to (%n) step (%c1) {
    %last = scf.for %t = %c0 to %m step %c1 iter_args(%s = %one) -> (f64) {
      memref.store %s, %tape[%p, %t] : memref<?x?xf64>
      %x = memref.load %z[%t, %p] : memref<?x?xf64>
      %y = arith.mulf %s, %x : f64
      scf.yield %y : f64
    }
    memref.store %last, %mid[%p] : memref<?xf64>
    scf.reduce()
  }
  scf.parallel (%p) = (%c0) to (%n) step (%c1) {
    %last = memref.load %mid[%p] : memref<?xf64>
    %first = scf.for %t = %c0 to %m step %c1 iter_args(%bar = %last) -> (f64) {
      %s = memref.load %tape[%p, %t] : memref<?x?xf64>
      %x = memref.load %z[%t, %p] : memref<?x?xf64>
      %by = arith.mulf %bar, %s : f64
      memref.store %by, %z_bar[%t, %p] : memref<?x?xf64>
      %y = arith.mulf %bar, %x : f64
      scf.yield %y : f64
    }
    memref.store %first, %mid[%p] : memref<?xf64>
    scf.reduce()
  }
  scf.parallel (%p) = (%c0) to (%n) step (%c1) {
    %last = scf.for %t = %c0 to %m step %c1 iter_args(%s = %one) -> (f64) {
      memref.store %s, %other[%p, %t] : memref<?x?xf64>
      %x = memref.load %z[%p, %t] : memref<?x?xf64>
      %y = arith.mulf %s, %x : f64
      scf.yield %y : f64
    }
    memref.store %last, %mid[%p] : memref<?xf64>
    scf.reduce()
  }
  scf.parallel (%p) = (%c0) to (%n) step (%c1) {
    %sum = scf.for %t = %c0 to %m step %c1 iter_args(%s = %one) -> (f64) {
      %x = memref.load %other[%p, %t] : memref<?x?xf64>
      %y = arith.addf %s, %x : f64
      scf.yield %y : f64
    }
    memref.store %sum, %mid[%p] : memref<?xf64>
    scf.reduce()
  }
  memref.dealloc %tape : memref<?x?xf64>
  memref.dealloc %other : memref<?x?xf64>
  func.return
}

// becomes
func.func @f(%z: memref<?x?xf64>, %z_bar: memref<?x?xf64>, %mid: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %c4 = arith.constant 4 : index
  %cst = arith.constant 0.0 : f64
  %tape = memref.alloc(%m, %n) {adc.tape = true} : memref<?x?xf64>
  %other = memref.alloc(%n, %m) {adc.tape = true} : memref<?x?xf64>
  %0 = arith.maxsi %n, %c0 : index
  %1 = arith.floordivsi %0, %c4 : index
  %2 = arith.ceildivsi %0, %c4 : index
  scf.parallel (%arg0) = (%c0) to (%1) step (%c1) {
    %3 = arith.muli %arg0, %c4 : index
    %4 = memref.alloc() : memref<4xf64>
    scf.parallel (%lane) = (%c0) to (%c4) step (%c1) {
      memref.store %one, %4[%lane] : memref<4xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %t = %c0 to %m step %c1 {
      scf.parallel (%lane_0) = (%c0) to (%c4) step (%c1) {
        %5 = memref.load %4[%lane_0] : memref<4xf64>
        %6 = arith.addi %3, %lane_0 : index
        memref.store %5, %tape[%t, %6] : memref<?x?xf64>
        %x = memref.load %z[%t, %6] : memref<?x?xf64>
        %y = arith.mulf %5, %x : f64
        memref.store %y, %4[%lane_0] : memref<4xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.parallel (%lane_1) = (%c0) to (%c4) step (%c1) {
      %7 = memref.load %4[%lane_1] : memref<4xf64>
      %8 = arith.addi %3, %lane_1 : index
      memref.store %7, %mid[%8] : memref<?xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  scf.parallel (%arg1) = (%1) to (%2) step (%c1) {
    %9 = arith.muli %arg1, %c4 : index
    %10 = arith.subi %0, %9 : index
    %11 = memref.alloc() : memref<4xf64>
    scf.parallel (%lane_2) = (%c0) to (%c4) step (%c1) {
      memref.store %one, %11[%lane_2] : memref<4xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %t_0 = %c0 to %m step %c1 {
      scf.parallel (%lane_3) = (%c0) to (%c4) step (%c1) {
        %12 = memref.load %11[%lane_3] : memref<4xf64>
        %13 = arith.addi %9, %lane_3 : index
        %14 = arith.cmpi slt, %lane_3, %10 : index
        scf.if %14 {
          memref.store %12, %tape[%t_0, %13] : memref<?x?xf64>
          scf.yield
        }
        %15 = scf.if %14 -> (f64) {
          %x_0 = memref.load %z[%t_0, %13] : memref<?x?xf64>
          scf.yield %x_0 : f64
        } else {
          scf.yield %cst : f64
        }
        %y_0 = arith.mulf %12, %15 : f64
        memref.store %y_0, %11[%lane_3] : memref<4xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.parallel (%lane_4) = (%c0) to (%c4) step (%c1) {
      %16 = memref.load %11[%lane_4] : memref<4xf64>
      %17 = arith.addi %9, %lane_4 : index
      %18 = arith.cmpi slt, %lane_4, %10 : index
      scf.if %18 {
        memref.store %16, %mid[%17] : memref<?xf64>
        scf.yield
      }
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  scf.parallel (%arg2) = (%c0) to (%1) step (%c1) {
    %19 = arith.muli %arg2, %c4 : index
    %20 = memref.alloc() : memref<4xf64>
    scf.parallel (%lane_5) = (%c0) to (%c4) step (%c1) {
      %21 = arith.addi %19, %lane_5 : index
      %last = memref.load %mid[%21] : memref<?xf64>
      memref.store %last, %20[%lane_5] : memref<4xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %t_1 = %c0 to %m step %c1 {
      scf.parallel (%lane_6) = (%c0) to (%c4) step (%c1) {
        %22 = arith.addi %19, %lane_6 : index
        %s = memref.load %tape[%t_1, %22] : memref<?x?xf64>
        %x_1 = memref.load %z[%t_1, %22] : memref<?x?xf64>
        %23 = memref.load %20[%lane_6] : memref<4xf64>
        %by = arith.mulf %23, %s : f64
        memref.store %by, %z_bar[%t_1, %22] : memref<?x?xf64>
        %y_1 = arith.mulf %23, %x_1 : f64
        memref.store %y_1, %20[%lane_6] : memref<4xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.parallel (%lane_7) = (%c0) to (%c4) step (%c1) {
      %24 = memref.load %20[%lane_7] : memref<4xf64>
      %25 = arith.addi %19, %lane_7 : index
      memref.store %24, %mid[%25] : memref<?xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  scf.parallel (%arg3) = (%1) to (%2) step (%c1) {
    %26 = arith.muli %arg3, %c4 : index
    %27 = arith.subi %0, %26 : index
    %28 = memref.alloc() : memref<4xf64>
    scf.parallel (%lane_8) = (%c0) to (%c4) step (%c1) {
      %29 = arith.addi %26, %lane_8 : index
      %30 = arith.cmpi slt, %lane_8, %27 : index
      %31 = scf.if %30 -> (f64) {
        %last_0 = memref.load %mid[%29] : memref<?xf64>
        scf.yield %last_0 : f64
      } else {
        scf.yield %cst : f64
      }
      memref.store %31, %28[%lane_8] : memref<4xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.for %t_2 = %c0 to %m step %c1 {
      scf.parallel (%lane_9) = (%c0) to (%c4) step (%c1) {
        %32 = arith.addi %26, %lane_9 : index
        %33 = arith.cmpi slt, %lane_9, %27 : index
        %34 = scf.if %33 -> (f64) {
          %s_0 = memref.load %tape[%t_2, %32] : memref<?x?xf64>
          scf.yield %s_0 : f64
        } else {
          scf.yield %cst : f64
        }
        %35 = scf.if %33 -> (f64) {
          %x_2 = memref.load %z[%t_2, %32] : memref<?x?xf64>
          scf.yield %x_2 : f64
        } else {
          scf.yield %cst : f64
        }
        %36 = memref.load %28[%lane_9] : memref<4xf64>
        %by_0 = arith.mulf %36, %34 : f64
        scf.if %33 {
          memref.store %by_0, %z_bar[%t_2, %32] : memref<?x?xf64>
          scf.yield
        }
        %y_2 = arith.mulf %36, %35 : f64
        memref.store %y_2, %28[%lane_9] : memref<4xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.parallel (%lane_10) = (%c0) to (%c4) step (%c1) {
      %37 = memref.load %28[%lane_10] : memref<4xf64>
      %38 = arith.addi %26, %lane_10 : index
      %39 = arith.cmpi slt, %lane_10, %27 : index
      scf.if %39 {
        memref.store %37, %mid[%38] : memref<?xf64>
        scf.yield
      }
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  scf.parallel (%p) = (%c0) to (%n) step (%c1) {
    %last_1 = scf.for %t_3 = %c0 to %m step %c1 iter_args(%s_1 = %one) -> (f64) {
      memref.store %s_1, %other[%p, %t_3] : memref<?x?xf64>
      %x_3 = memref.load %z[%p, %t_3] : memref<?x?xf64>
      %y_3 = arith.mulf %s_1, %x_3 : f64
      scf.yield %y_3 : f64
    }
    memref.store %last_1, %mid[%p] : memref<?xf64>
    scf.reduce()
  }
  scf.parallel (%p_0) = (%c0) to (%n) step (%c1) {
    %sum = scf.for %t_4 = %c0 to %m step %c1 iter_args(%s_2 = %one) -> (f64) {
      %x_4 = memref.load %other[%p_0, %t_4] : memref<?x?xf64>
      %y_4 = arith.addf %s_2, %x_4 : f64
      scf.yield %y_4 : f64
    }
    memref.store %sum, %mid[%p_0] : memref<?xf64>
    scf.reduce()
  }
  memref.dealloc %tape : memref<?x?xf64>
  memref.dealloc %other : memref<?x?xf64>
  func.return
}
