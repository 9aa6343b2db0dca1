// adc opt --passes=lower-accumulate,tidy
// What all terms of an iteration need, a sum over its window and a quotient, is computed first and kept, not once for each
// of the elements that the window reaches.

func.func @shares(%x: memref<?xf64>, %x_bar: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %cst = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %c-3 = arith.constant -3 : index
  %size = memref.dim %x, 0 : memref<?xf64>
  %n = arith.addi %size, %c-3 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%so_far = %cst) -> (f64) {
      %at = arith.addi %i, %k : index
      %a = memref.load %x[%at] : memref<?xf64>
      %more = arith.addf %so_far, %a : f64
      scf.yield %more : f64
    }
    %share = arith.divf %one, %sum : f64
    scf.for %l = %c0 to %c4 step %c1 {
      %to = arith.addi %i, %l : index
      adc.accumulate %share, %x_bar[%to] : memref<?xf64>
      scf.yield
    }
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @shares(%x: memref<?xf64>, %x_bar: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %cst = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %c-3 = arith.constant -3 : index
  %c3 = arith.constant 3 : index
  %size = memref.dim %x, 0 : memref<?xf64>
  %n = arith.addi %size, %c-3 : index
  %0 = arith.cmpi sgt, %n, %c0 : index
  scf.if %0 {
    %1 = memref.alloc(%n) : memref<?xf64>
    scf.parallel (%x_0) = (%c0) to (%n) step (%c1) {
      %2 = scf.for %k = %c0 to %c4 step %c1 iter_args(%so_far = %cst) -> (f64) {
        %at = arith.addi %x_0, %k : index
        %a = memref.load %x[%at] : memref<?xf64>
        %more = arith.addf %so_far, %a : f64
        scf.yield %more : f64
      }
      %share = arith.divf %one, %2 : f64
      memref.store %share, %1[%x_0] : memref<?xf64>
      scf.reduce()
    } {threads = true}
    %3 = arith.minsi %size, %c3 : index
    %4 = arith.minsi %n, %size : index
    %5 = arith.maxsi %3, %4 : index
    %6 = arith.subi %4, %3 : index
    %7 = arith.maxsi %6, %c0 : index
    scf.parallel (%x_1) = (%3) to (%5) step (%c1) {
      %8 = scf.for %k_0 = %c0 to %c4 step %c1 iter_args(%arg0 = %cst) -> (f64) {
        %9 = arith.subi %x_1, %k_0 : index
        %10 = memref.load %1[%9] : memref<?xf64>
        %11 = arith.addf %arg0, %10 fastmath<reassoc,contract> : f64
        scf.yield %11 : f64
      }
      %12 = memref.load %x_bar[%x_1] : memref<?xf64>
      %13 = arith.addf %12, %8 fastmath<contract> : f64
      memref.store %13, %x_bar[%x_1] : memref<?xf64>
      scf.reduce()
    } {threads = true}
    %14 = arith.subi %size, %7 : index
    scf.parallel (%x_2) = (%c0) to (%14) step (%c1) {
      %15 = arith.cmpi slt, %x_2, %c3 : index
      %16 = arith.addi %x_2, %7 : index
      %17 = arith.select %15, %x_2, %16 : index
      %18 = arith.subi %17, %size : index
      %19 = arith.addi %18, %c4 : index
      %20 = arith.addi %17, %c1 : index
      %21 = arith.maxsi %19, %c0 : index
      %22 = arith.minsi %20, %c4 : index
      %23 = scf.for %k_1 = %21 to %22 step %c1 iter_args(%arg1 = %cst) -> (f64) {
        %24 = arith.subi %17, %k_1 : index
        %25 = memref.load %1[%24] : memref<?xf64>
        %26 = arith.addf %arg1, %25 fastmath<reassoc,contract> : f64
        scf.yield %26 : f64
      }
      %27 = memref.load %x_bar[%17] : memref<?xf64>
      %28 = arith.addf %27, %23 fastmath<contract> : f64
      memref.store %28, %x_bar[%17] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}
