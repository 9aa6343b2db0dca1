// adc opt --passes=version-bounds,tidy
// Bounds of slices that are loaded from an array of offsets: with all of them in range, they are what they are, and the lengths of two slices are one.

func.func @f(%x: memref<?xf64>, %first: memref<?xi64>, %columns: memref<?xi64>, %y: memref<?xf64>, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %most = arith.constant 9223372036854775807 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = memref.dim %columns, 0 : memref<?xi64>
  scf.for %i = %c0 to %rows step %c1 {
    %at = adc.bound %i, %rows : index
    %p64 = memref.load %first[%at] : memref<?xi64>
    %p = arith.index_cast %p64 : i64 to index
    %below = arith.cmpi slt, %p, %c0 : index
    %end = arith.addi %p, %n : index
    %from_end = arith.maxsi %end, %c0 : index
    %beyond = arith.minsi %p, %n : index
    %low = arith.select %below, %from_end, %beyond : index
    %end_1 = arith.addi %p, %m : index
    %from_end_1 = arith.maxsi %end_1, %c0 : index
    %beyond_1 = arith.minsi %p, %m : index
    %low_1 = arith.select %below, %from_end_1, %beyond_1 : index
    %alike = arith.cmpi eq, %low, %low_1 : index
    adc.assert %alike {error = "ShapeError", message = "they differ"} : i1
    %least = scf.parallel (%k) = (%c0) to (%low_1) step (%c1) init (%most) -> (index) {
      %c64 = memref.load %columns[%k] : memref<?xi64>
      %c = arith.index_cast %c64 : i64 to index
      scf.reduce(%c : index) {kinds = ["min"]}
    }
    %inside = arith.cmpi sge, %least, %c0 : index
    adc.assert %inside, %least {error = "BoundsError", message = "index {} is out of bounds"} : i1, index
    %v = memref.load %x[%low] : memref<?xf64>
    memref.store %v, %y[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %first: memref<?xi64>, %columns: memref<?xi64>, %y: memref<?xf64>, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %most = arith.constant 9223372036854775807 : index
  %c1048576 = arith.constant 1048576 : index
  %c16 = arith.constant 16 : index
  %c4096 = arith.constant 4096 : index
  %c-9223372036854775808 = arith.constant -9223372036854775808 : index
  %c-9223372036854775808_i64 = arith.constant -9223372036854775808 : i64
  %c9223372036854775807_i64 = arith.constant 9223372036854775807 : i64
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = memref.dim %columns, 0 : memref<?xi64>
  %0 = memref.dim %first, 0 : memref<?xi64>
  %1 = arith.maxsi %rows, %c0 : index
  %2 = arith.minsi %1, %c1048576 : index
  %3 = arith.muli %2, %c16 : index
  %4 = arith.maxsi %3, %c4096 : index
  %5 = arith.cmpi sle, %0, %4 : index
  %6 = arith.select %5, %0, %c0 : index
  %7 = scf.parallel (%subscript) = (%c0) to (%6) step (%c1) init (%most) -> index {
    %8 = memref.load %first[%subscript] : memref<?xi64>
    %9 = arith.index_cast %8 : i64 to index
    scf.reduce(%9 : index) {kinds = ["min"]}
  }
  %10 = arith.select %5, %7, %c-9223372036854775808 : index
  %11 = scf.parallel (%subscript_0) = (%c0) to (%6) step (%c1) init (%c-9223372036854775808_i64) -> i64 {
    %12 = memref.load %first[%subscript_0] : memref<?xi64>
    scf.reduce(%12 : i64) {kinds = ["max"]}
  }
  %13 = arith.select %5, %11, %c9223372036854775807_i64 : i64
  %14 = arith.cmpi sle, %m, %4 : index
  %15 = arith.select %14, %m, %c0 : index
  %16 = scf.parallel (%subscript_1) = (%c0) to (%15) step (%c1) init (%c9223372036854775807_i64) -> i64 {
    %17 = memref.load %columns[%subscript_1] : memref<?xi64>
    scf.reduce(%17 : i64) {kinds = ["min"]}
  }
  %18 = arith.select %14, %16, %c-9223372036854775808_i64 : i64
  %19 = arith.cmpi sge, %10, %c0 : index
  %20 = arith.index_cast %13 : i64 to index
  %21 = arith.cmpi sle, %20, %n : index
  %22 = arith.cmpi sle, %20, %m : index
  %23 = arith.index_cast %18 : i64 to index
  %24 = arith.cmpi sge, %23, %c0 : index
  %25 = arith.andi %19, %21 : i1
  %26 = arith.andi %25, %22 : i1
  %27 = arith.andi %26, %24 : i1
  scf.if %27 {
    scf.for %i = %c0 to %rows step %c1 {
      %p64 = memref.load %first[%i] : memref<?xi64>
      %p = arith.index_cast %p64 : i64 to index
      %v = memref.load %x[%p] : memref<?xf64>
      memref.store %v, %y[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield
  } else {
    scf.for %i_0 = %c0 to %rows step %c1 {
      %p64_0 = memref.load %first[%i_0] : memref<?xi64>
      %p_0 = arith.index_cast %p64_0 : i64 to index
      %below = arith.cmpi slt, %p_0, %c0 : index
      %end = arith.addi %p_0, %n : index
      %from_end = arith.maxsi %end, %c0 : index
      %beyond = arith.minsi %p_0, %n : index
      %low = arith.select %below, %from_end, %beyond : index
      %end_1 = arith.addi %p_0, %m : index
      %from_end_1 = arith.maxsi %end_1, %c0 : index
      %beyond_1 = arith.minsi %p_0, %m : index
      %low_1 = arith.select %below, %from_end_1, %beyond_1 : index
      %alike = arith.cmpi eq, %low, %low_1 : index
      adc.assert %alike {error = "ShapeError", message = "they differ"} : i1
      %least = scf.parallel (%k) = (%c0) to (%low) step (%c1) init (%most) -> index {
        %c64 = memref.load %columns[%k] : memref<?xi64>
        %c = arith.index_cast %c64 : i64 to index
        scf.reduce(%c : index) {kinds = ["min"]}
      }
      %inside = arith.cmpi sge, %least, %c0 : index
      adc.assert %inside, %least {error = "BoundsError", message = "index {} is out of bounds"} : i1, index
      %v_0 = memref.load %x[%low] : memref<?xf64>
      memref.store %v_0, %y[%i_0] : memref<?xf64>
      scf.yield
    }
    scf.yield
  } {adc.cold = "else"}
  func.return
}
