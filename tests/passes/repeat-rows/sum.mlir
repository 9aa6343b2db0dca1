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
  %cst = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  %k = memref.dim %b, 0 : memref<?xf64>
  %same = arith.cmpi eq, %m, %k : index
  adc.assert %same {error = "ShapeError", message = "shapes differ"} : i1
  %l = memref.dim %d, 0 : memref<?xf64>
  %too = arith.cmpi eq, %m, %l : index
  adc.assert %too {error = "ShapeError", message = "shapes differ"} : i1
  %0 = arith.maxsi %m, %c1 : index
  %1 = arith.ceildivsi %c128, %0 : index
  %2 = arith.minsi %1, %n : index
  %3 = arith.cmpi sgt, %2, %c1 : index
  %4 = arith.select %3, %2, %c0 : index
  %5 = memref.subview %b[%c0][%m][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %6 = arith.muli %4, %m : index
  %7 = memref.alloc(%6) : memref<?xf64>
  scf.parallel (%x_0) = (%c0) to (%4) step (%c1) {
    %8 = arith.muli %x_0, %m : index
    scf.parallel (%x_1) = (%c0) to (%m) step (%c1) {
      %9 = memref.load %b[%x_1] : memref<?xf64>
      %10 = arith.addi %8, %x_1 : index
      memref.store %9, %7[%10] : memref<?xf64>
      scf.reduce()
    } {adc.peeled = true}
    scf.reduce()
  }
  %11 = arith.cmpi sgt, %4, %c0 : index
  %12 = memref.cast %7 : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %13 = scf.if %11 -> (memref<?xf64, strided<[1], offset: ?>>) {
    scf.yield %12 : memref<?xf64, strided<[1], offset: ?>>
  } else {
    scf.yield %5 : memref<?xf64, strided<[1], offset: ?>>
  }
  %14 = memref.subview %d[%c0][%m][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %15 = memref.alloc(%6) : memref<?xf64>
  linalg.fill ins(%cst : f64) outs(%15 : memref<?xf64>)
  %16 = memref.cast %15 : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %17 = scf.if %11 -> (memref<?xf64, strided<[1], offset: ?>>) {
    scf.yield %16 : memref<?xf64, strided<[1], offset: ?>>
  } else {
    scf.yield %14 : memref<?xf64, strided<[1], offset: ?>>
  }
  %18 = arith.muli %n, %m : index
  %19 = adc.reshape %x[%18] {groups = [[2, 1]]} : memref<?x?xf64> to memref<?xf64>
  %20 = arith.maxsi %2, %c1 : index
  %21 = arith.ceildivsi %n, %20 : index
  scf.for %i = %c0 to %21 step %c1 {
    %22 = arith.muli %i, %20 : index
    %23 = arith.subi %n, %22 : index
    %24 = arith.minsi %23, %20 : index
    %25 = arith.muli %22, %m : index
    %26 = arith.muli %24, %m : index
    scf.parallel (%j) = (%c0) to (%26) step (%c1) {
      %27 = arith.addi %25, %j : index
      %a = memref.load %19[%27] : memref<?xf64>
      %c = memref.load %13[%j] : memref<?xf64, strided<[1], offset: ?>>
      %p = arith.mulf %a, %c : f64
      %old = memref.load %17[%j] : memref<?xf64, strided<[1], offset: ?>>
      %new = arith.addf %old, %p fastmath<contract> : f64
      memref.store %new, %17[%j] : memref<?xf64, strided<[1], offset: ?>>
      scf.reduce()
    } {adc.reverse = true, adc.unordered = true}
    scf.yield
  } {adc.reverse = true, adc.unordered = true}
  scf.parallel (%x_2) = (%c0) to (%m) step (%c1) {
    scf.for %r = %c0 to %4 step %c1 {
      %28 = arith.muli %r, %m : index
      %29 = arith.addi %28, %x_2 : index
      %30 = memref.load %17[%29] : memref<?xf64, strided<[1], offset: ?>>
      %31 = memref.load %d[%x_2] : memref<?xf64>
      %32 = arith.addf %31, %30 : f64
      memref.store %32, %d[%x_2] : memref<?xf64>
      scf.yield
    } {adc.peeled = true}
    scf.reduce()
  } {adc.peeled = true}
  func.return
}
