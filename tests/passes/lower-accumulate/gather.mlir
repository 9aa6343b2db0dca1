// adc opt --passes=lower-accumulate{wanted=gather},tidy
// What iterations add to elements at constant offsets is gathered: each element of the shadow adds its terms itself, those
// at the rim by themselves.

func.func @stencil(%x: memref<?xf64>, %g: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %g[%i] : memref<?xf64>
    %next = arith.addi %i, %c1 : index
    adc.accumulate %a, %x[%i] : memref<?xf64>
    adc.accumulate %a, %x[%next] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @stencil(%x: memref<?xf64>, %g: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %0 = arith.cmpi sgt, %n, %c0 : index
  %1 = arith.addi %n, %c1 : index
  scf.if %0 {
    %2 = arith.cmpi sgt, %n, %c1 : index
    scf.if %2 {
      %a = memref.load %g[%c0] : memref<?xf64>
      %3 = memref.load %x[%c0] : memref<?xf64>
      %4 = arith.addf %3, %a fastmath<contract> : f64
      memref.store %4, %x[%c0] : memref<?xf64>
      %5 = arith.addi %n, %c-1 : index
      %a_0 = memref.load %g[%5] : memref<?xf64>
      %6 = memref.load %x[%n] : memref<?xf64>
      %7 = arith.addf %6, %a_0 fastmath<contract> : f64
      memref.store %7, %x[%n] : memref<?xf64>
      scf.parallel (%x_0) = (%c1) to (%n) step (%c1) {
        %a_1 = memref.load %g[%x_0] : memref<?xf64>
        %8 = arith.addi %x_0, %c-1 : index
        %a_2 = memref.load %g[%8] : memref<?xf64>
        %9 = arith.addf %a_1, %a_2 fastmath<contract> : f64
        %10 = memref.load %x[%x_0] : memref<?xf64>
        %11 = arith.addf %10, %9 fastmath<contract> : f64
        memref.store %11, %x[%x_0] : memref<?xf64>
        scf.reduce()
      } {threads = true}
      scf.yield
    } else {
      scf.parallel (%x_1) = (%c0) to (%n) step (%c1) {
        %a_3 = memref.load %g[%x_1] : memref<?xf64>
        %12 = memref.load %x[%x_1] : memref<?xf64>
        %13 = arith.addf %12, %a_3 fastmath<contract> : f64
        memref.store %13, %x[%x_1] : memref<?xf64>
        scf.reduce()
      }
      scf.parallel (%x_2) = (%c1) to (%1) step (%c1) {
        %14 = arith.addi %x_2, %c-1 : index
        %a_4 = memref.load %g[%14] : memref<?xf64>
        %15 = memref.load %x[%x_2] : memref<?xf64>
        %16 = arith.addf %15, %a_4 fastmath<contract> : f64
        memref.store %16, %x[%x_2] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    } {adc.cold = "else"}
    scf.yield
  }
  func.return
}
