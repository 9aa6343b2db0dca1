// adc opt --passes=distribute-products,canonicalize,cse
// The adjoint of a product that is written as three loops: its two products are apart from what they multiply, if sums are long. A loop that adds
// to what it reads elsewhere stays.

func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %y: memref<?x?xf64>, %a_bar: memref<?x?xf64>, %b_bar: memref<?x?xf64>) {
  %c-1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %k = memref.dim %a, 1 : memref<?x?xf64>
  %m = memref.dim %b, 1 : memref<?x?xf64>
  %last_row = arith.addi %n, %c-1 : index
  %last_term = arith.addi %k, %c-1 : index
  scf.for %p = %c0 to %n step %c1 {
    %i = arith.subi %last_row, %p : index
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %s = memref.load %y[%i, %j] : memref<?x?xf64>
      %g = arith.addf %s, %s fastmath<contract> : f64
      scf.for %r = %c0 to %k step %c1 {
        %l = arith.subi %last_term, %r : index
        %u = memref.load %a[%i, %l] : memref<?x?xf64>
        %v = memref.load %b[%l, %j] : memref<?x?xf64>
        %to_a = arith.mulf %g, %v fastmath<contract> : f64
        %to_b = arith.mulf %g, %u fastmath<contract> : f64
        adc.accumulate %to_a, %a_bar[%i, %l] : memref<?x?xf64>
        adc.accumulate %to_b, %b_bar[%l, %j] : memref<?x?xf64>
        scf.yield
      }
      scf.reduce()
    }
    scf.yield
  }
  func.return
}

func.func @stays(%a: memref<?x?xf64>, %y: memref<?x?xf64>, %y_bar: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?x?xf64>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %g = memref.load %y_bar[%i, %j] : memref<?x?xf64>
      scf.for %l = %c0 to %n step %c1 {
        %u = memref.load %a[%l, %j] : memref<?x?xf64>
        %t = arith.mulf %g, %u fastmath<contract> : f64
        adc.accumulate %t, %y_bar[%i, %l] : memref<?x?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %y: memref<?x?xf64>, %a_bar: memref<?x?xf64>, %b_bar: memref<?x?xf64>) {
  %c-1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %true = arith.constant true : i1
  %false = arith.constant false : i1
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %k = memref.dim %a, 1 : memref<?x?xf64>
  %m = memref.dim %b, 1 : memref<?x?xf64>
  %last_row = arith.addi %n, %c-1 : index
  %last_term = arith.addi %k, %c-1 : index
  %0 = arith.cmpi sgt, %k, %c24 : index
  scf.if %0 {
    %1 = memref.alloc(%n, %m) : memref<?x?xf64>
    scf.for %p = %c0 to %n step %c1 {
      %i = arith.subi %last_row, %p : index
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {
        %s = memref.load %y[%i, %j] : memref<?x?xf64>
        %g = arith.addf %s, %s fastmath<contract> : f64
        memref.store %g, %1[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.yield
    }
    scf.parallel (%x) = (%c0) to (%n) step (%c1) {
      scf.parallel (%x_0) = (%c0) to (%m) step (%c1) {
        scf.parallel (%x_1) = (%c0) to (%k) step (%c1) {
          %2 = memref.load %1[%x, %x_0] : memref<?x?xf64>
          %v = memref.load %b[%x_1, %x_0] : memref<?x?xf64>
          %3 = arith.mulf %2, %v fastmath<contract> : f64
          adc.accumulate %3, %a_bar[%x, %x_1] : memref<?x?xf64>
          %u = memref.load %a[%x, %x_1] : memref<?x?xf64>
          %4 = arith.mulf %2, %u fastmath<contract> : f64
          adc.accumulate %4, %b_bar[%x_1, %x_0] : memref<?x?xf64>
          scf.reduce()
        }
        scf.reduce()
      }
      scf.reduce()
    }
    scf.yield
  } else {
    scf.for %p_0 = %c0 to %n step %c1 {
      %i_0 = arith.subi %last_row, %p_0 : index
      scf.parallel (%j_0) = (%c0) to (%m) step (%c1) {
        %s_0 = memref.load %y[%i_0, %j_0] : memref<?x?xf64>
        %g_0 = arith.addf %s_0, %s_0 fastmath<contract> : f64
        scf.for %r = %c0 to %k step %c1 {
          %l = arith.subi %last_term, %r : index
          %u_0 = memref.load %a[%i_0, %l] : memref<?x?xf64>
          %v_0 = memref.load %b[%l, %j_0] : memref<?x?xf64>
          %to_a = arith.mulf %g_0, %v_0 fastmath<contract> : f64
          %to_b = arith.mulf %g_0, %u_0 fastmath<contract> : f64
          adc.accumulate %to_a, %a_bar[%i_0, %l] : memref<?x?xf64>
          adc.accumulate %to_b, %b_bar[%l, %j_0] : memref<?x?xf64>
          scf.yield
        }
        scf.reduce()
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @stays(%a: memref<?x?xf64>, %y: memref<?x?xf64>, %y_bar: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?x?xf64>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %g = memref.load %y_bar[%i, %j] : memref<?x?xf64>
      scf.for %l = %c0 to %n step %c1 {
        %u = memref.load %a[%l, %j] : memref<?x?xf64>
        %t = arith.mulf %g, %u fastmath<contract> : f64
        adc.accumulate %t, %y_bar[%i, %l] : memref<?x?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}
