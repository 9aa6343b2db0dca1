// adc opt --passes=owner-computes{cut=0},tidy
// Rows are shared out. Each rank fetches the rows beside its own, computes its own, and says that what others have of them is old;
// the terms of the sum, one for each row, are cut in the same way, and all ranks get all of them.

func.func @f(%u: memref<?x?xf64> {adc.axes = [[0, 0], [-1, 0]], adc.name = "u"}, %v: memref<?x?xf64> {adc.axes = [[0, 0], [-1, 0]], adc.name = "v"}, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %u, 0 : memref<?x?xf64>
  %m = memref.dim %u, 1 : memref<?x?xf64>
  %last = arith.subi %n, %c1 : index
  scf.for %t = %c0 to %steps step %c1 {
    scf.parallel (%i) = (%c1) to (%last) step (%c1) {
      %before = arith.subi %i, %c1 : index
      %behind = arith.addi %i, %c1 : index
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {
        %a = memref.load %u[%before, %j] : memref<?x?xf64>
        %b = memref.load %u[%behind, %j] : memref<?x?xf64>
        %c = arith.addf %a, %b : f64
        memref.store %c, %v[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    } {threads = true}
    scf.parallel (%i) = (%c1) to (%last) step (%c1) {
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {
        %a = memref.load %v[%i, %j] : memref<?x?xf64>
        memref.store %a, %u[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    } {threads = true}
    scf.yield
  }
  %sum = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %row = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
      %a = memref.load %u[%i, %j] : memref<?x?xf64>
      scf.reduce(%a : f64) {kinds = ["add"]}
    }
    scf.reduce(%row : f64) {kinds = ["add"]}
  } {threads = true}
  func.return %sum : f64
}

// becomes
func.func @f(%u: memref<?x?xf64> {adc.axes = [[0, 0], [-1, 0]], adc.name = "u"}, %v: memref<?x?xf64> {adc.axes = [[0, 0], [-1, 0]], adc.name = "v"}, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c-1 = arith.constant -1 : index
  %c0_i64 = arith.constant 0 : i64
  %c45 = arith.constant 45 : index
  %c-1_i64 = arith.constant -1 : i64
  %c2 = arith.constant 2 : index
  %c2_i64 = arith.constant 2 : i64
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c1_i64 = arith.constant 1 : i64
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c11 = arith.constant 11 : index
  %c12 = arith.constant 12 : index
  %c13 = arith.constant 13 : index
  %c14 = arith.constant 14 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  %c18 = arith.constant 18 : index
  %c19 = arith.constant 19 : index
  %c20 = arith.constant 20 : index
  %c21 = arith.constant 21 : index
  %c22 = arith.constant 22 : index
  %c23 = arith.constant 23 : index
  %c24 = arith.constant 24 : index
  %c25 = arith.constant 25 : index
  %c26 = arith.constant 26 : index
  %c27 = arith.constant 27 : index
  %c28 = arith.constant 28 : index
  %c29 = arith.constant 29 : index
  %c30 = arith.constant 30 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %c33 = arith.constant 33 : index
  %c34 = arith.constant 34 : index
  %c35 = arith.constant 35 : index
  %c36 = arith.constant 36 : index
  %c37 = arith.constant 37 : index
  %c38 = arith.constant 38 : index
  %c39 = arith.constant 39 : index
  %c40 = arith.constant 40 : index
  %c41 = arith.constant 41 : index
  %c42 = arith.constant 42 : index
  %c43 = arith.constant 43 : index
  %c44 = arith.constant 44 : index
  %c3367610656_i64 = arith.constant 3367610656 : i64
  %c3746412708_i64 = arith.constant 3746412708 : i64
  %n = memref.dim %u, 0 : memref<?x?xf64>
  %m = memref.dim %u, 1 : memref<?x?xf64>
  %last = arith.addi %n, %c-1 : index
  %0 = arith.index_cast %n : index to i64
  %1 = func.call @first(%c0_i64, %0) : (i64, i64) -> i64
  %2 = arith.index_cast %1 : i64 to index
  %3 = func.call @last(%c0_i64, %0) : (i64, i64) -> i64
  %4 = arith.index_cast %3 : i64 to index
  %5 = arith.index_cast %last : index to i64
  %6 = arith.index_cast %m : index to i64
  %7 = arith.subi %2, %c0 : index
  %8 = arith.subi %4, %c0 : index
  %9 = arith.maxsi %7, %c1 : index
  %10 = arith.minsi %last, %8 : index
  scf.for %t = %c0 to %steps step %c1 {
    %11 = memref.alloc(%c45) : memref<?xi64>
    memref.store %c0_i64, %11[%c0] : memref<?xi64>
    memref.store %c-1_i64, %11[%c1] : memref<?xi64>
    memref.store %c2_i64, %11[%c2] : memref<?xi64>
    memref.store %c0_i64, %11[%c3] : memref<?xi64>
    memref.store %c0_i64, %11[%c4] : memref<?xi64>
    memref.store %0, %11[%c5] : memref<?xi64>
    memref.store %c1_i64, %11[%c6] : memref<?xi64>
    memref.store %c0_i64, %11[%c7] : memref<?xi64>
    memref.store %c0_i64, %11[%c8] : memref<?xi64>
    memref.store %c1_i64, %11[%c9] : memref<?xi64>
    memref.store %5, %11[%c10] : memref<?xi64>
    memref.store %c1_i64, %11[%c11] : memref<?xi64>
    memref.store %c1_i64, %11[%c12] : memref<?xi64>
    memref.store %c0_i64, %11[%c13] : memref<?xi64>
    memref.store %c-1_i64, %11[%c14] : memref<?xi64>
    memref.store %6, %11[%c15] : memref<?xi64>
    memref.store %c1_i64, %11[%c16] : memref<?xi64>
    memref.store %c0_i64, %11[%c17] : memref<?xi64>
    memref.store %c0_i64, %11[%c18] : memref<?xi64>
    memref.store %c0_i64, %11[%c19] : memref<?xi64>
    memref.store %6, %11[%c20] : memref<?xi64>
    memref.store %c1_i64, %11[%c21] : memref<?xi64>
    memref.store %c0_i64, %11[%c22] : memref<?xi64>
    memref.store %c0_i64, %11[%c23] : memref<?xi64>
    memref.store %c0_i64, %11[%c24] : memref<?xi64>
    memref.store %c0_i64, %11[%c25] : memref<?xi64>
    memref.store %0, %11[%c26] : memref<?xi64>
    memref.store %c1_i64, %11[%c27] : memref<?xi64>
    memref.store %c0_i64, %11[%c28] : memref<?xi64>
    memref.store %c0_i64, %11[%c29] : memref<?xi64>
    memref.store %c1_i64, %11[%c30] : memref<?xi64>
    memref.store %5, %11[%c31] : memref<?xi64>
    memref.store %c1_i64, %11[%c32] : memref<?xi64>
    memref.store %c-1_i64, %11[%c33] : memref<?xi64>
    memref.store %c0_i64, %11[%c34] : memref<?xi64>
    memref.store %c-1_i64, %11[%c35] : memref<?xi64>
    memref.store %6, %11[%c36] : memref<?xi64>
    memref.store %c1_i64, %11[%c37] : memref<?xi64>
    memref.store %c0_i64, %11[%c38] : memref<?xi64>
    memref.store %c0_i64, %11[%c39] : memref<?xi64>
    memref.store %c0_i64, %11[%c40] : memref<?xi64>
    memref.store %6, %11[%c41] : memref<?xi64>
    memref.store %c1_i64, %11[%c42] : memref<?xi64>
    memref.store %c0_i64, %11[%c43] : memref<?xi64>
    memref.store %c0_i64, %11[%c44] : memref<?xi64>
    %12 = func.call @fetch(%u, %11, %c3367610656_i64) : (memref<?x?xf64>, memref<?xi64>, i64) -> i64
    %13 = arith.cmpi eq, %12, %c0_i64 : i64
    adc.assert %13, %12 {error = "Exception", message = ["{int!k}"]} : i1, i64
    scf.parallel (%i) = (%9) to (%10) step (%c1) {
      %before = arith.addi %i, %c-1 : index
      %behind = arith.addi %i, %c1 : index
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {
        %a = memref.load %u[%before, %j] : memref<?x?xf64>
        %b = memref.load %u[%behind, %j] : memref<?x?xf64>
        %c = arith.addf %a, %b : f64
        memref.store %c, %v[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    } {threads = true}
    scf.parallel (%i_0) = (%9) to (%10) step (%c1) {
      scf.parallel (%j_0) = (%c0) to (%m) step (%c1) {
        %a_0 = memref.load %v[%i_0, %j_0] : memref<?x?xf64>
        memref.store %a_0, %u[%i_0, %j_0] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    } {threads = true}
    %14 = func.call @wrote(%u) : (memref<?x?xf64>) -> i64
    %15 = arith.cmpi eq, %14, %c0_i64 : i64
    adc.assert %15, %14 {error = "Exception", message = ["{int!k}"]} : i1, i64
    scf.yield
  }
  %16 = memref.alloc(%n) : memref<?xf64>
  %17 = memref.alloc(%c24) : memref<?xi64>
  memref.store %c0_i64, %17[%c0] : memref<?xi64>
  memref.store %c-1_i64, %17[%c1] : memref<?xi64>
  memref.store %c1_i64, %17[%c2] : memref<?xi64>
  memref.store %c0_i64, %17[%c3] : memref<?xi64>
  memref.store %c1_i64, %17[%c4] : memref<?xi64>
  memref.store %0, %17[%c5] : memref<?xi64>
  memref.store %c1_i64, %17[%c6] : memref<?xi64>
  memref.store %c0_i64, %17[%c7] : memref<?xi64>
  memref.store %c0_i64, %17[%c8] : memref<?xi64>
  memref.store %c0_i64, %17[%c9] : memref<?xi64>
  memref.store %0, %17[%c10] : memref<?xi64>
  memref.store %c1_i64, %17[%c11] : memref<?xi64>
  memref.store %c0_i64, %17[%c12] : memref<?xi64>
  memref.store %c0_i64, %17[%c13] : memref<?xi64>
  memref.store %c-1_i64, %17[%c14] : memref<?xi64>
  %18 = arith.index_cast %m : index to i64
  memref.store %18, %17[%c15] : memref<?xi64>
  memref.store %c1_i64, %17[%c16] : memref<?xi64>
  memref.store %c0_i64, %17[%c17] : memref<?xi64>
  memref.store %c0_i64, %17[%c18] : memref<?xi64>
  memref.store %c0_i64, %17[%c19] : memref<?xi64>
  memref.store %18, %17[%c20] : memref<?xi64>
  memref.store %c1_i64, %17[%c21] : memref<?xi64>
  memref.store %c0_i64, %17[%c22] : memref<?xi64>
  memref.store %c0_i64, %17[%c23] : memref<?xi64>
  %19 = func.call @fetch(%u, %17, %c3367610656_i64) : (memref<?x?xf64>, memref<?xi64>, i64) -> i64
  %20 = arith.cmpi eq, %19, %c0_i64 : i64
  adc.assert %20, %19 {error = "Exception", message = ["{int!k}"]} : i1, i64
  %21 = func.call @first(%c1_i64, %0) : (i64, i64) -> i64
  %22 = arith.index_cast %21 : i64 to index
  %23 = arith.subi %22, %c0 : index
  %24 = func.call @last(%c1_i64, %0) : (i64, i64) -> i64
  %25 = arith.index_cast %24 : i64 to index
  %26 = arith.subi %25, %c0 : index
  %27 = arith.maxsi %23, %c0 : index
  %28 = arith.minsi %n, %26 : index
  scf.parallel (%i_1) = (%27) to (%28) step (%c1) {
    %row = scf.parallel (%j_1) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
      %a_1 = memref.load %u[%i_1, %j_1] : memref<?x?xf64>
      scf.reduce(%a_1 : f64) {kinds = ["add"]}
    }
    memref.store %row, %16[%i_1] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  %29 = func.call @wrote_1(%16) : (memref<?xf64>) -> i64
  %30 = arith.cmpi eq, %29, %c0_i64 : i64
  adc.assert %30, %29 {error = "Exception", message = ["{int!k}"]} : i1, i64
  %31 = memref.alloc(%c13) : memref<?xi64>
  memref.store %c1_i64, %31[%c0] : memref<?xi64>
  memref.store %c1_i64, %31[%c1] : memref<?xi64>
  memref.store %c0_i64, %31[%c2] : memref<?xi64>
  memref.store %c-1_i64, %31[%c3] : memref<?xi64>
  memref.store %0, %31[%c4] : memref<?xi64>
  memref.store %c1_i64, %31[%c5] : memref<?xi64>
  memref.store %c0_i64, %31[%c6] : memref<?xi64>
  memref.store %c0_i64, %31[%c7] : memref<?xi64>
  memref.store %c0_i64, %31[%c8] : memref<?xi64>
  memref.store %0, %31[%c9] : memref<?xi64>
  memref.store %c1_i64, %31[%c10] : memref<?xi64>
  memref.store %c0_i64, %31[%c11] : memref<?xi64>
  memref.store %c0_i64, %31[%c12] : memref<?xi64>
  %32 = func.call @fetch_1(%16, %31, %c3746412708_i64) : (memref<?xf64>, memref<?xi64>, i64) -> i64
  %33 = arith.cmpi eq, %32, %c0_i64 : i64
  adc.assert %33, %32 {error = "Exception", message = ["{int!k}"]} : i1, i64
  %sum = scf.parallel (%arg0) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %34 = memref.load %16[%arg0] : memref<?xf64>
    scf.reduce(%34 : f64) {kinds = ["add"]}
  } {threads = true}
  %35 = func.call @changed(%u) : (memref<?x?xf64>) -> i64
  %36 = arith.cmpi eq, %35, %c0_i64 : i64
  adc.assert %36, %35 {error = "Exception", message = ["{int!k}"]} : i1, i64
  %37 = func.call @changed(%v) : (memref<?x?xf64>) -> i64
  %38 = arith.cmpi eq, %37, %c0_i64 : i64
  adc.assert %38, %37 {error = "Exception", message = ["{int!k}"]} : i1, i64
  func.return %sum : f64
}

func.func @fetch(%x0: memref<?x?xf64>, %x1: memref<?xi64>, %x2: i64) -> i64 attributes {adc.noinline = true, adc.shares = "fetch"} {
  %0 = adc.foreign %x0, %x1, %x2 {library = "adc.mpi", ordered = true, symbol = "fetch", types = [i64], written = [0]} : memref<?x?xf64>, memref<?xi64>, i64
  func.return %0 : i64
}

func.func @first(%x0: i64, %x1: i64) -> i64 attributes {adc.noinline = true, adc.shares = "first"} {
  %0 = adc.foreign %x0, %x1 {library = "adc.mpi", symbol = "first", types = [i64]} : i64
  func.return %0 : i64
}

func.func @last(%x0: i64, %x1: i64) -> i64 attributes {adc.noinline = true, adc.shares = "last"} {
  %0 = adc.foreign %x0, %x1 {library = "adc.mpi", symbol = "last", types = [i64]} : i64
  func.return %0 : i64
}

func.func @wrote(%x0: memref<?x?xf64>) -> i64 attributes {adc.noinline = true, adc.shares = "wrote"} {
  %0 = adc.foreign %x0 {library = "adc.mpi", ordered = true, symbol = "wrote", types = [i64], written = [0]} : memref<?x?xf64>
  func.return %0 : i64
}

func.func @wrote_1(%x0: memref<?xf64>) -> i64 attributes {adc.noinline = true, adc.shares = "wrote"} {
  %0 = adc.foreign %x0 {library = "adc.mpi", ordered = true, symbol = "wrote", types = [i64], written = [0]} : memref<?xf64>
  func.return %0 : i64
}

func.func @fetch_1(%x0: memref<?xf64>, %x1: memref<?xi64>, %x2: i64) -> i64 attributes {adc.noinline = true, adc.shares = "fetch"} {
  %0 = adc.foreign %x0, %x1, %x2 {library = "adc.mpi", ordered = true, symbol = "fetch", types = [i64], written = [0]} : memref<?xf64>, memref<?xi64>, i64
  func.return %0 : i64
}

func.func @changed(%x0: memref<?x?xf64>) -> i64 attributes {adc.noinline = true, adc.shares = "changed"} {
  %0 = adc.foreign %x0 {library = "adc.mpi", ordered = true, symbol = "changed", types = [i64], written = [0]} : memref<?x?xf64>
  func.return %0 : i64
}
