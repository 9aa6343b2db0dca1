// adc opt --passes=lower-accumulate{wanted=gather},tidy
// The shadows that a reverse sweep gets back from slots of a tape do not overlap if they did not in the iteration that
// put them there: what is added to the older one is gathered from the newer one.

func.func @steps(%x: memref<?xf64>, %nt: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %cst = arith.constant 2.0 : f64
  %m = memref.dim %x, 0 : memref<?xf64>
  %n = arith.addi %m, %c-1 : index
  %older = memref.alloc(%nt) {adc.tape = true} : memref<?xmemref<?xf64>>
  %newer = memref.alloc(%nt) {adc.tape = true} : memref<?xmemref<?xf64>>
  %last = scf.for %t = %c0 to %nt step %c1 iter_args(%u = %x) -> (memref<?xf64>) {
    memref.store %u, %older[%t] : memref<?xmemref<?xf64>>
    %v = memref.alloc(%m) : memref<?xf64>
    linalg.fill ins(%cst : f64) outs(%v : memref<?xf64>)
    memref.store %v, %newer[%t] : memref<?xmemref<?xf64>>
    scf.yield %v : memref<?xf64>
  }
  scf.for %s = %c0 to %nt step %c1 {
    %a = memref.load %older[%s] : memref<?xmemref<?xf64>>
    %b = memref.load %newer[%s] : memref<?xmemref<?xf64>>
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %g = memref.load %b[%i] : memref<?xf64>
      %next = arith.addi %i, %c1 : index
      adc.accumulate %g, %a[%i] : memref<?xf64>
      adc.accumulate %g, %a[%next] : memref<?xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @steps(%x: memref<?xf64>, %nt: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %cst = arith.constant 2.0 : f64
  %c-2 = arith.constant -2 : index
  %m = memref.dim %x, 0 : memref<?xf64>
  %n = arith.addi %m, %c-1 : index
  %older = memref.alloc(%nt) {adc.tape = true} : memref<?xmemref<?xf64>>
  %newer = memref.alloc(%nt) {adc.tape = true} : memref<?xmemref<?xf64>>
  %last = scf.for %t = %c0 to %nt step %c1 iter_args(%u = %x) -> (memref<?xf64>) {
    memref.store %u, %older[%t] : memref<?xmemref<?xf64>>
    %v = memref.alloc(%m) : memref<?xf64>
    linalg.fill ins(%cst : f64) outs(%v : memref<?xf64>)
    memref.store %v, %newer[%t] : memref<?xmemref<?xf64>>
    scf.yield %v : memref<?xf64>
  }
  %0 = arith.cmpi sgt, %n, %c1 : index
  %1 = arith.addi %m, %c-2 : index
  scf.for %s = %c0 to %nt step %c1 {
    %a = memref.load %older[%s] : memref<?xmemref<?xf64>>
    %b = memref.load %newer[%s] : memref<?xmemref<?xf64>>
    scf.if %0 {
      %g = memref.load %b[%c0] : memref<?xf64>
      %2 = memref.load %a[%c0] : memref<?xf64>
      %3 = arith.addf %2, %g fastmath<contract> : f64
      memref.store %3, %a[%c0] : memref<?xf64>
      %g_0 = memref.load %b[%1] : memref<?xf64>
      %4 = memref.load %a[%n] : memref<?xf64>
      %5 = arith.addf %4, %g_0 fastmath<contract> : f64
      memref.store %5, %a[%n] : memref<?xf64>
      scf.parallel (%x_0) = (%c1) to (%n) step (%c1) {
        %g_1 = memref.load %b[%x_0] : memref<?xf64>
        %6 = arith.addi %x_0, %c-1 : index
        %g_2 = memref.load %b[%6] : memref<?xf64>
        %7 = arith.addf %g_1, %g_2 fastmath<contract> : f64
        %8 = memref.load %a[%x_0] : memref<?xf64>
        %9 = arith.addf %8, %7 fastmath<contract> : f64
        memref.store %9, %a[%x_0] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    } else {
      scf.parallel (%x_1) = (%c0) to (%n) step (%c1) {
        %g_3 = memref.load %b[%x_1] : memref<?xf64>
        %10 = memref.load %a[%x_1] : memref<?xf64>
        %11 = arith.addf %10, %g_3 fastmath<contract> : f64
        memref.store %11, %a[%x_1] : memref<?xf64>
        scf.reduce()
      }
      scf.parallel (%x_2) = (%c1) to (%m) step (%c1) {
        %12 = arith.addi %x_2, %c-1 : index
        %g_4 = memref.load %b[%12] : memref<?xf64>
        %13 = memref.load %a[%x_2] : memref<?xf64>
        %14 = arith.addf %13, %g_4 fastmath<contract> : f64
        memref.store %14, %a[%x_2] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    } {adc.cold = "else"}
    scf.yield
  }
  func.return
}
