// adc opt --passes=distribute-products,canonicalize,cse
// Steps sum what two products take, which come after the steps, since these do not change the factors. In @moving they do.

func.func @f(%a: memref<10x10xf64>, %b: memref<10x10xf64>, %y: memref<?x10x10xf64>, %a_bar: memref<10x10xf64>, %b_bar: memref<10x10xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %steps = memref.dim %y, 0 : memref<?x10x10xf64>
  scf.for %t = %c0 to %steps step %c1 {
    scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
      scf.parallel (%j) = (%c0) to (%c10) step (%c1) {
        %s = memref.load %y[%t, %i, %j] : memref<?x10x10xf64>
        %g = arith.mulf %s, %s fastmath<contract> : f64
        scf.for %l = %c0 to %c10 step %c1 {
          %u = memref.load %a[%i, %l] : memref<10x10xf64>
          %v = memref.load %b[%l, %j] : memref<10x10xf64>
          %to_a = arith.mulf %g, %v fastmath<contract> : f64
          %to_b = arith.mulf %g, %u fastmath<contract> : f64
          adc.accumulate %to_a, %a_bar[%i, %l] : memref<10x10xf64>
          adc.accumulate %to_b, %b_bar[%l, %j] : memref<10x10xf64>
          scf.yield
        }
        scf.reduce()
      }
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

func.func @moving(%a: memref<10x10xf64>, %y: memref<?x10x10xf64>, %b_bar: memref<10x10xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %steps = memref.dim %y, 0 : memref<?x10x10xf64>
  scf.for %t = %c0 to %steps step %c1 {
    scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
      scf.parallel (%j) = (%c0) to (%c10) step (%c1) {
        %s = memref.load %y[%t, %i, %j] : memref<?x10x10xf64>
        %g = arith.mulf %s, %s fastmath<contract> : f64
        scf.for %l = %c0 to %c10 step %c1 {
          %u = memref.load %a[%i, %l] : memref<10x10xf64>
          %to_b = arith.mulf %g, %u fastmath<contract> : f64
          adc.accumulate %to_b, %b_bar[%l, %j] : memref<10x10xf64>
          scf.yield
        }
        scf.reduce()
      }
      scf.reduce()
    }
    scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
      %s = memref.load %y[%t, %i, %i] : memref<?x10x10xf64>
      memref.store %s, %a[%i, %i] : memref<10x10xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%a: memref<10x10xf64>, %b: memref<10x10xf64>, %y: memref<?x10x10xf64>, %a_bar: memref<10x10xf64>, %b_bar: memref<10x10xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %cst = arith.constant 0.0 : f64
  %true = arith.constant true : i1
  %false = arith.constant false : i1
  %steps = memref.dim %y, 0 : memref<?x10x10xf64>
  %0 = memref.alloc(%c10, %c10) : memref<?x?xf64>
  linalg.fill ins(%cst : f64) outs(%0 : memref<?x?xf64>)
  scf.for %t = %c0 to %steps step %c1 {
    scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
      scf.parallel (%j) = (%c0) to (%c10) step (%c1) {
        %s = memref.load %y[%t, %i, %j] : memref<?x10x10xf64>
        %g = arith.mulf %s, %s fastmath<contract> : f64
        adc.accumulate %g, %0[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.yield
  }
  %1 = arith.cmpi sgt, %steps, %c0 : index
  scf.if %1 {
    scf.parallel (%x) = (%c0) to (%c10) step (%c1) {
      scf.parallel (%x_0) = (%c0) to (%c10) step (%c1) {
        scf.parallel (%x_1) = (%c0) to (%c10) step (%c1) {
          %2 = memref.load %0[%x, %x_0] : memref<?x?xf64>
          %v = memref.load %b[%x_1, %x_0] : memref<10x10xf64>
          %3 = arith.mulf %2, %v fastmath<contract> : f64
          adc.accumulate %3, %a_bar[%x, %x_1] : memref<10x10xf64>
          %u = memref.load %a[%x, %x_1] : memref<10x10xf64>
          %4 = arith.mulf %2, %u fastmath<contract> : f64
          adc.accumulate %4, %b_bar[%x_1, %x_0] : memref<10x10xf64>
          scf.reduce()
        }
        scf.reduce()
      }
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

func.func @moving(%a: memref<10x10xf64>, %y: memref<?x10x10xf64>, %b_bar: memref<10x10xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %steps = memref.dim %y, 0 : memref<?x10x10xf64>
  scf.for %t = %c0 to %steps step %c1 {
    %0 = memref.alloc(%c10, %c10) : memref<?x?xf64>
    scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
      scf.parallel (%j) = (%c0) to (%c10) step (%c1) {
        %s = memref.load %y[%t, %i, %j] : memref<?x10x10xf64>
        %g = arith.mulf %s, %s fastmath<contract> : f64
        memref.store %g, %0[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.parallel (%x) = (%c0) to (%c10) step (%c1) {
      scf.parallel (%x_0) = (%c0) to (%c10) step (%c1) {
        scf.parallel (%x_1) = (%c0) to (%c10) step (%c1) {
          %1 = memref.load %0[%x, %x_0] : memref<?x?xf64>
          %u = memref.load %a[%x, %x_1] : memref<10x10xf64>
          %2 = arith.mulf %1, %u fastmath<contract> : f64
          adc.accumulate %2, %b_bar[%x_1, %x_0] : memref<10x10xf64>
          scf.reduce()
        }
        scf.reduce()
      }
      scf.reduce()
    }
    scf.parallel (%i_0) = (%c0) to (%c10) step (%c1) {
      %s_0 = memref.load %y[%t, %i_0, %i_0] : memref<?x10x10xf64>
      memref.store %s_0, %a[%i_0, %i_0] : memref<10x10xf64>
      scf.reduce()
    }
    scf.yield
  }
  func.return
}
