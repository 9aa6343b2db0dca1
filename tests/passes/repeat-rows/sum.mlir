// adc opt --passes=repeat-rows,tidy
// All rows of %x are combined with the row %b, and added to the row %d: several at a time.

func.func @f(%x: memref<?x?xf64>, %b: memref<?xf64>, %d: memref<?xf64> {adc.alias = 1}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  %k = memref.dim %b, 0 : memref<?xf64>
  %same = arith.cmpi eq, %m, %k : index
  adc.assert %same {error = "ShapeError", message = "shapes differ"} : i1
  %l = memref.dim %d, 0 : memref<?xf64>
  %too = arith.cmpi eq, %m, %l : index
  adc.assert %too {error = "ShapeError", message = "shapes differ"} : i1
  scf.for %i = %c0 to %n step %c1 {
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %c = memref.load %b[%j] : memref<?xf64>
      %p = arith.mulf %a, %c : f64
      %old = memref.load %d[%j] : memref<?xf64>
      %new = arith.addf %old, %p fastmath<contract> : f64
      memref.store %new, %d[%j] : memref<?xf64>
      scf.reduce()
    } {adc.reverse = true, adc.unordered = true}
    scf.yield
  } {adc.reverse = true, adc.unordered = true}
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %b: memref<?xf64>, %d: memref<?xf64> {adc.alias = 1}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %cst = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  %k = memref.dim %b, 0 : memref<?xf64>
  %same = arith.cmpi eq, %m, %k : index
  adc.assert %same {error = "ShapeError", message = "shapes differ"} : i1
  %l = memref.dim %d, 0 : memref<?xf64>
  %too = arith.cmpi eq, %m, %l : index
  adc.assert %too {error = "ShapeError", message = "shapes differ"} : i1
  %0 = arith.muli %n, %m : index
  %1 = arith.cmpi sge, %0, %c128 : index
  %2 = arith.cmpi slt, %m, %c16 : index
  %3 = arith.andi %2, %1 : i1
  %4, %5, %6 = scf.if %3 -> (index, index, index) {
    %7 = arith.maxsi %m, %c1 : index
    %8 = arith.ceildivsi %c64, %7 : index
    %9 = arith.ceildivsi %n, %8 : index
    scf.yield %8, %9, %8 : index, index, index
  } else {
    scf.yield %c1, %n, %c0 : index, index, index
  }
  %10 = memref.subview %b[%c0][%m][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %11 = memref.alloc() : memref<80xf64>
  scf.parallel (%x_0) = (%c0) to (%6) step (%c1) {
    %12 = arith.muli %x_0, %m : index
    scf.parallel (%x_1) = (%c0) to (%m) step (%c1) {
      %13 = memref.load %b[%x_1] : memref<?xf64>
      %14 = arith.addi %12, %x_1 : index
      memref.store %13, %11[%14] : memref<80xf64>
      scf.reduce()
    } {adc.peeled = true}
    scf.reduce()
  }
  %15 = arith.muli %6, %m : index
  %16 = arith.cmpi sgt, %6, %c0 : index
  %17 = memref.subview %11[%c0][%15][%c1] {static_steps = [1]} : memref<80xf64> to memref<?xf64, strided<[1], offset: ?>>
  %18 = scf.if %16 -> (memref<?xf64, strided<[1], offset: ?>>) {
    scf.yield %17 : memref<?xf64, strided<[1], offset: ?>>
  } else {
    scf.yield %10 : memref<?xf64, strided<[1], offset: ?>>
  }
  %19 = memref.subview %d[%c0][%m][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %20 = memref.alloc() : memref<80xf64>
  scf.parallel (%x_2) = (%c0) to (%6) step (%c1) {
    %21 = arith.muli %x_2, %m : index
    scf.parallel (%x_3) = (%c0) to (%m) step (%c1) {
      %22 = arith.addi %21, %x_3 : index
      memref.store %cst, %20[%22] : memref<80xf64>
      scf.reduce()
    } {adc.peeled = true}
    scf.reduce()
  }
  %23 = memref.subview %20[%c0][%15][%c1] {static_steps = [1]} : memref<80xf64> to memref<?xf64, strided<[1], offset: ?>>
  %24 = scf.if %16 -> (memref<?xf64, strided<[1], offset: ?>>) {
    scf.yield %23 : memref<?xf64, strided<[1], offset: ?>>
  } else {
    scf.yield %19 : memref<?xf64, strided<[1], offset: ?>>
  }
  %25 = adc.reshape %x[%0] {groups = [[2, 1]]} : memref<?x?xf64> to memref<?xf64>
  scf.for %i = %c0 to %5 step %c1 {
    %26 = arith.muli %i, %4 : index
    %27 = arith.subi %n, %26 : index
    %28 = arith.minsi %27, %4 : index
    %29 = arith.muli %26, %m : index
    %30 = arith.muli %28, %m : index
    scf.parallel (%j) = (%c0) to (%30) step (%c1) {
      %31 = arith.addi %29, %j : index
      %a = memref.load %25[%31] : memref<?xf64>
      %c = memref.load %18[%j] : memref<?xf64, strided<[1], offset: ?>>
      %p = arith.mulf %a, %c : f64
      %old = memref.load %24[%j] : memref<?xf64, strided<[1], offset: ?>>
      %new = arith.addf %old, %p fastmath<contract> : f64
      memref.store %new, %24[%j] : memref<?xf64, strided<[1], offset: ?>>
      scf.reduce()
    } {adc.reverse = true, adc.unordered = true}
    scf.yield
  } {adc.reverse = true, adc.unordered = true}
  scf.for %r = %c0 to %6 step %c1 {
    %32 = arith.muli %r, %m : index
    scf.parallel (%x_4) = (%c0) to (%m) step (%c1) {
      %33 = arith.addi %32, %x_4 : index
      %34 = memref.load %24[%33] : memref<?xf64, strided<[1], offset: ?>>
      %35 = memref.load %d[%x_4] : memref<?xf64>
      %36 = arith.addf %35, %34 : f64
      memref.store %36, %d[%x_4] : memref<?xf64>
      scf.reduce()
    } {adc.peeled = true}
    scf.yield
  }
  func.return
}
