// adc opt --passes=small-extents
// The subscripts of %y are 0 and 1, and an array like %x is made again and again: a version for two elements, in which
// the short function that takes them is a part of the loop. Other extents are as good.

func.func @dot(%a: memref<?xf64> {adc.readonly = true}, %b: memref<?xf64> {adc.readonly = true}) -> f64 {
  %c1 = arith.constant 1 : index
  %a1 = memref.load %a[%c1] : memref<?xf64>
  %b1 = memref.load %b[%c1] : memref<?xf64>
  %0 = arith.mulf %a1, %b1 : f64
  func.return %0 : f64
}

func.func @f(%x: memref<?xf64> {adc.readonly = true}, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %total = scf.for %t = %c0 to %steps step %c1 iter_args(%sum = %cst) -> (f64) {
    %y = memref.alloc(%n) : memref<?xf64>
    scf.for %j = %c0 to %n step %c1 {
      %a = memref.load %x[%j] : memref<?xf64>
      %b = arith.mulf %a, %sum : f64
      memref.store %b, %y[%j] : memref<?xf64>
      scf.yield
    }
    %first = adc.bound %c0, %n : index
    %second = adc.bound %c1, %n : index
    %u = memref.load %y[%first] : memref<?xf64>
    %v = memref.load %y[%second] : memref<?xf64>
    %d = func.call @dot(%y, %x) : (memref<?xf64>, memref<?xf64>) -> f64
    %w = arith.addf %u, %v : f64
    %s = arith.addf %w, %d : f64
    scf.yield %s : f64
  }
  func.return %total : f64
}

// A stencil is for any number of elements.
func.func @g(%x: memref<?xf64> {adc.readonly = true}, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %total = scf.for %t = %c0 to %steps step %c1 iter_args(%sum = %cst) -> (f64) {
    %y = memref.alloc(%n) : memref<?xf64>
    scf.for %j = %c1 to %n step %c1 {
      %a = memref.load %x[%j] : memref<?xf64>
      memref.store %a, %y[%j] : memref<?xf64>
      scf.yield
    }
    %first = adc.bound %c0, %n : index
    %second = adc.bound %c1, %n : index
    %u = memref.load %y[%first] : memref<?xf64>
    %v = memref.load %y[%second] : memref<?xf64>
    %w = arith.addf %u, %v : f64
    scf.yield %w : f64
  }
  func.return %total : f64
}

// becomes
func.func @dot(%a: memref<?xf64> {adc.readonly = true}, %b: memref<?xf64> {adc.readonly = true}) -> f64 {
  %c1 = arith.constant 1 : index
  %a1 = memref.load %a[%c1] : memref<?xf64>
  %b1 = memref.load %b[%c1] : memref<?xf64>
  %0 = arith.mulf %a1, %b1 : f64
  func.return %0 : f64
}

func.func @f(%x: memref<?xf64> {adc.readonly = true}, %steps: index) -> f64 {
  %c2 = arith.constant 2 : index
  %0 = memref.dim %x, 0 : memref<?xf64>
  %1 = arith.cmpi eq, %0, %c2 : index
  %2 = scf.if %1 -> (f64) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.0 : f64
    %n = memref.dim %x, 0 : memref<?xf64>
    %total = scf.for %t = %c0 to %steps step %c1 iter_args(%sum = %cst) -> (f64) {
      %y = memref.alloc(%c2) : memref<?xf64>
      scf.for %j = %c0 to %c2 step %c1 {
        %a = memref.load %x[%j] : memref<?xf64>
        %b = arith.mulf %a, %sum : f64
        memref.store %b, %y[%j] : memref<?xf64>
        scf.yield
      }
      %first = adc.bound %c0, %c2 : index
      %second = adc.bound %c1, %c2 : index
      %u = memref.load %y[%first] : memref<?xf64>
      %v = memref.load %y[%second] : memref<?xf64>
      %c1_0 = arith.constant 1 : index
      %a1 = memref.load %y[%c1_0] : memref<?xf64>
      %b1 = memref.load %x[%c1_0] : memref<?xf64>
      %d = arith.mulf %a1, %b1 : f64
      %w = arith.addf %u, %v : f64
      %s = arith.addf %w, %d : f64
      scf.yield %s : f64
    }
    scf.yield %total : f64
  } else {
    %c0_0 = arith.constant 0 : index
    %c1_1 = arith.constant 1 : index
    %cst_0 = arith.constant 0.0 : f64
    %n_0 = memref.dim %x, 0 : memref<?xf64>
    %total_0 = scf.for %t_0 = %c0_0 to %steps step %c1_1 iter_args(%sum_0 = %cst_0) -> (f64) {
      %y_0 = memref.alloc(%n_0) : memref<?xf64>
      scf.for %j_0 = %c0_0 to %n_0 step %c1_1 {
        %a_0 = memref.load %x[%j_0] : memref<?xf64>
        %b_0 = arith.mulf %a_0, %sum_0 : f64
        memref.store %b_0, %y_0[%j_0] : memref<?xf64>
        scf.yield
      }
      %first_0 = adc.bound %c0_0, %n_0 : index
      %second_0 = adc.bound %c1_1, %n_0 : index
      %u_0 = memref.load %y_0[%first_0] : memref<?xf64>
      %v_0 = memref.load %y_0[%second_0] : memref<?xf64>
      %d_0 = func.call @dot(%y_0, %x) : (memref<?xf64>, memref<?xf64>) -> f64
      %w_0 = arith.addf %u_0, %v_0 : f64
      %s_0 = arith.addf %w_0, %d_0 : f64
      scf.yield %s_0 : f64
    }
    scf.yield %total_0 : f64
  }
  func.return %2 : f64
}

func.func @g(%x: memref<?xf64> {adc.readonly = true}, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %total = scf.for %t = %c0 to %steps step %c1 iter_args(%sum = %cst) -> (f64) {
    %y = memref.alloc(%n) : memref<?xf64>
    scf.for %j = %c1 to %n step %c1 {
      %a = memref.load %x[%j] : memref<?xf64>
      memref.store %a, %y[%j] : memref<?xf64>
      scf.yield
    }
    %first = adc.bound %c0, %n : index
    %second = adc.bound %c1, %n : index
    %u = memref.load %y[%first] : memref<?xf64>
    %v = memref.load %y[%second] : memref<?xf64>
    %w = arith.addf %u, %v : f64
    scf.yield %w : f64
  }
  func.return %total : f64
}
