// adc opt --passes=version-bounds,tidy
// A running index through the rows of a triangle: the least that its subscripts come to is found by counting alone, in front of the loop over points.

func.func @f(%a: memref<?xf64>, %y: memref<?xf64>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %y, 0 : memref<?xf64>
  %m = memref.dim %a, 0 : memref<?xf64>
  scf.for %p = %c0 to %n step %c1 {
    %end = scf.for %i = %c0 to %k step %c1 iter_args(%q = %c0) -> (index) {
      %rest = arith.subi %k, %i : index
      scf.for %j = %c0 to %rest step %c1 {
        %s = arith.addi %q, %j : index
        %at = adc.bound %s, %m : index
        %v = memref.load %a[%at] : memref<?xf64>
        memref.store %v, %y[%p] : memref<?xf64>
        scf.yield
      }
      %next = arith.addi %q, %rest : index
      scf.yield %next : index
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%a: memref<?xf64>, %y: memref<?xf64>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9223372036854775807 = arith.constant 9223372036854775807 : index
  %c-9223372036854775808 = arith.constant -9223372036854775808 : index
  %c1099511627776 = arith.constant 1099511627776 : index
  %c-1099511627776 = arith.constant -1099511627776 : index
  %n = memref.dim %y, 0 : memref<?xf64>
  %m = memref.dim %a, 0 : memref<?xf64>
  %0 = arith.cmpi sgt, %n, %c0 : index
  %1 = arith.select %0, %k, %c0 : index
  %2, %3 = scf.for %i = %c0 to %1 step %c1 iter_args(%arg0 = %c0, %arg1 = %c9223372036854775807) -> (index, index) {
    %rest = arith.subi %k, %i : index
    %next = arith.addi %arg0, %rest : index
    %4 = arith.minsi %arg1, %arg0 : index
    scf.yield %next, %4 : index, index
  }
  %5, %6 = scf.for %i_0 = %c0 to %1 step %c1 iter_args(%arg2 = %c0, %arg3 = %c9223372036854775807) -> (index, index) {
    %rest_0 = arith.subi %k, %i_0 : index
    %next_0 = arith.addi %arg2, %rest_0 : index
    %7 = arith.addi %m, %i_0 : index
    %8 = arith.subi %7, %k : index
    %9 = arith.subi %8, %arg2 : index
    %10 = arith.minsi %arg3, %9 : index
    scf.yield %next_0, %10 : index, index
  }
  %11, %12 = scf.for %i_1 = %c0 to %1 step %c1 iter_args(%arg4 = %c0, %arg5 = %c-9223372036854775808) -> (index, index) {
    %rest_1 = arith.subi %k, %i_1 : index
    %next_1 = arith.addi %arg4, %rest_1 : index
    %13 = arith.maxsi %arg5, %arg4 : index
    scf.yield %next_1, %13 : index, index
  }
  %14 = arith.cmpi sle, %m, %c1099511627776 : index
  %15 = arith.cmpi sge, %k, %c-1099511627776 : index
  %16 = arith.cmpi sle, %k, %c1099511627776 : index
  %17 = arith.cmpi sge, %3, %c-1099511627776 : index
  %18 = arith.cmpi sle, %3, %c1099511627776 : index
  %19 = arith.cmpi sge, %12, %c-1099511627776 : index
  %20 = arith.cmpi sle, %12, %c1099511627776 : index
  %21 = arith.cmpi sge, %3, %c0 : index
  %22 = arith.cmpi sge, %6, %c0 : index
  %23 = arith.andi %21, %22 : i1
  %24 = arith.andi %14, %15 : i1
  %25 = arith.andi %24, %16 : i1
  %26 = arith.andi %25, %17 : i1
  %27 = arith.andi %26, %18 : i1
  %28 = arith.andi %27, %19 : i1
  %29 = arith.andi %28, %20 : i1
  %30 = arith.andi %29, %23 : i1
  scf.if %30 {
    scf.for %p = %c0 to %n step %c1 {
      %end = scf.for %i_2 = %c0 to %k step %c1 iter_args(%q = %c0) -> (index) {
        %rest_2 = arith.subi %k, %i_2 : index
        scf.for %j = %c0 to %rest_2 step %c1 {
          %s = arith.addi %q, %j : index
          %v = memref.load %a[%s] : memref<?xf64>
          memref.store %v, %y[%p] : memref<?xf64>
          scf.yield
        }
        %next_2 = arith.addi %q, %rest_2 : index
        scf.yield %next_2 : index
      }
      scf.yield
    }
    scf.yield
  } else {
    scf.for %p_0 = %c0 to %n step %c1 {
      %end_0 = scf.for %i_3 = %c0 to %k step %c1 iter_args(%q_0 = %c0) -> (index) {
        %rest_3 = arith.subi %k, %i_3 : index
        scf.for %j_0 = %c0 to %rest_3 step %c1 {
          %s_0 = arith.addi %q_0, %j_0 : index
          %at = adc.bound %s_0, %m : index
          %v_0 = memref.load %a[%at] : memref<?xf64>
          memref.store %v_0, %y[%p_0] : memref<?xf64>
          scf.yield
        }
        %next_3 = arith.addi %q_0, %rest_3 : index
        scf.yield %next_3 : index
      }
      scf.yield
    }
    scf.yield
  } {adc.cold = "else"}
  func.return
}
