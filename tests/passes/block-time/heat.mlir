// adc opt --passes=block-time{steps=2},tidy
// Two steps of a stencil at once, over blocks of rows and the seams between them, if the field is larger than caches; else
// the loop as it was.

func.func @heat(%u: memref<?xf64>, %v: memref<?xf64>, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %u, 0 : memref<?xf64>
  %m = memref.dim %v, 0 : memref<?xf64>
  %a, %b = scf.for %t = %c0 to %steps step %c1 iter_args(%from = %u, %to = %v) -> (memref<?xf64>, memref<?xf64>) {
    %end = arith.subi %n, %c1 : index
    scf.parallel (%i) = (%c1) to (%end) step (%c1) {
      %left = arith.subi %i, %c1 : index
      %y = memref.load %from[%left] : memref<?xf64>
      %z = memref.load %from[%i] : memref<?xf64>
      %s = arith.addf %y, %z : f64
      memref.store %s, %to[%i] : memref<?xf64>
      scf.reduce()
    } {threads = true}
    scf.yield %to, %from : memref<?xf64>, memref<?xf64>
  }
  %y = memref.load %a[%c1] : memref<?xf64>
  func.return %y : f64
}

// becomes
func.func @heat(%u: memref<?xf64>, %v: memref<?xf64>, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %c1024 = arith.constant 1024 : index
  %c4096 = arith.constant 4096 : index
  %c2 = arith.constant 2 : index
  %c-2 = arith.constant -2 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %u, 0 : memref<?xf64>
  %end = arith.addi %n, %c-1 : index
  %0 = arith.minsi %steps, %c2 : index
  %1 = arith.maxsi %0, %c1 : index
  %2 = arith.addi %n, %c-2 : index
  %3 = arith.maxsi %2, %c0 : index
  %4 = arith.floordivsi %3, %c4096 : index
  %5 = arith.minsi %4, %c64 : index
  %6 = arith.maxsi %5, %c1 : index
  %a, %b = scf.for %group = %c0 to %steps step %1 iter_args(%a_0 = %u, %b_0 = %v) -> (memref<?xf64>, memref<?xf64>) {
    %7 = arith.addi %group, %1 : index
    %8 = arith.minsi %7, %steps : index
    %9 = arith.subi %8, %group : index
    %10 = arith.addi %9, %c-1 : index
    scf.parallel (%block) = (%c0) to (%6) step (%c1) {
      %11 = arith.addi %block, %c1 : index
      %12 = arith.cmpi eq, %block, %c0 : index
      %13 = arith.cmpi eq, %11, %6 : index
      %14 = arith.muli %3, %block : index
      %15 = arith.floordivsi %14, %6 : index
      %16 = arith.addi %15, %c1 : index
      %17 = arith.muli %3, %11 : index
      %18 = arith.floordivsi %17, %6 : index
      %19 = arith.addi %18, %c1 : index
      %20 = arith.addi %19, %10 : index
      %21 = arith.select %13, %20, %19 : index
      scf.for %row = %16 to %21 step %c1024 {
        %22 = arith.addi %row, %c1024 : index
        %23, %24 = scf.for %step = %c0 to %9 step %c1 iter_args(%from = %a_0, %to = %b_0) -> (memref<?xf64>, memref<?xf64>) {
          %25 = arith.addi %16, %step : index
          %26 = arith.subi %19, %step : index
          %27 = arith.maxsi %25, %c1 : index
          %28 = arith.select %12, %c1, %27 : index
          %29 = arith.minsi %end, %26 : index
          %30 = arith.select %13, %end, %29 : index
          %31 = arith.subi %row, %step : index
          %32 = arith.maxsi %28, %31 : index
          %33 = arith.subi %22, %step : index
          %34 = arith.minsi %30, %33 : index
          scf.parallel (%i) = (%32) to (%34) step (%c1) {
            %left = arith.addi %i, %c-1 : index
            %y = memref.load %from[%left] : memref<?xf64>
            %z = memref.load %from[%i] : memref<?xf64>
            %s = arith.addf %y, %z : f64
            memref.store %s, %to[%i] : memref<?xf64>
            scf.reduce()
          } {adc.trips = 4}
          scf.yield %to, %from : memref<?xf64>, memref<?xf64>
        }
        scf.yield
      }
      scf.reduce()
    } {threads = true}
    scf.parallel (%block_0) = (%c1) to (%6) step (%c1) {
      %35 = arith.muli %3, %block_0 : index
      %36 = arith.floordivsi %35, %6 : index
      %37 = arith.addi %36, %c1 : index
      %38, %39 = scf.for %step_0 = %c0 to %9 step %c1 iter_args(%from_0 = %a_0, %to_0 = %b_0) -> (memref<?xf64>, memref<?xf64>) {
        %40 = arith.subi %37, %step_0 : index
        %41 = arith.addi %37, %step_0 : index
        %42 = arith.maxsi %40, %c1 : index
        %43 = arith.minsi %end, %41 : index
        scf.parallel (%i_0) = (%42) to (%43) step (%c1) {
          %left_0 = arith.addi %i_0, %c-1 : index
          %y_0 = memref.load %from_0[%left_0] : memref<?xf64>
          %z_0 = memref.load %from_0[%i_0] : memref<?xf64>
          %s_0 = arith.addf %y_0, %z_0 : f64
          memref.store %s_0, %to_0[%i_0] : memref<?xf64>
          scf.reduce()
        } {adc.trips = 4}
        scf.yield %to_0, %from_0 : memref<?xf64>, memref<?xf64>
      }
      scf.reduce()
    } {threads = true}
    %44, %45 = scf.for %step_1 = %c0 to %9 step %c1 iter_args(%from_1 = %a_0, %to_1 = %b_0) -> (memref<?xf64>, memref<?xf64>) {
      scf.yield %to_1, %from_1 : memref<?xf64>, memref<?xf64>
    }
    scf.yield %44, %45 : memref<?xf64>, memref<?xf64>
  } {adc.grouped = true}
  %y_1 = memref.load %a[%c1] : memref<?xf64>
  func.return %y_1 : f64
}
