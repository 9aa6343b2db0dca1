// adc opt --passes=narrow-rows{few=8},tidy
// Each iteration makes an array, whose elements it adds up: where that is of few elements, there can be one for each lane.

func.func @f(%a: memref<?x?xf64>, %out: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %t = memref.alloc(%m) : memref<?xf64>
    %s = scf.for %j = %c0 to %m step %c1 iter_args(%so_far = %zero) -> (f64) {
      %x = memref.load %a[%j, %i] : memref<?x?xf64>
      %y = arith.addf %so_far, %x : f64
      memref.store %y, %t[%j] : memref<?xf64>
      scf.yield %y : f64
    }
    %r = scf.for %j = %c0 to %m step %c1 iter_args(%so_far = %s) -> (f64) {
      %x = memref.load %t[%j] : memref<?xf64>
      %y = arith.mulf %so_far, %x : f64
      scf.yield %y : f64
    }
    memref.store %r, %out[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @f(%a: memref<?x?xf64>, %out: memref<?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c512 = arith.constant 512 : index
  %0 = arith.cmpi sle, %m, %c512 : index
  scf.if %0 {
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %t = memref.alloc(%m) : memref<?xf64>
      %s = scf.for %j = %c0 to %m step %c1 iter_args(%so_far = %zero) -> (f64) {
        %x = memref.load %a[%j, %i] : memref<?x?xf64>
        %y = arith.addf %so_far, %x : f64
        memref.store %y, %t[%j] : memref<?xf64>
        scf.yield %y : f64
      }
      %r = scf.for %j_0 = %c0 to %m step %c1 iter_args(%so_far_0 = %s) -> (f64) {
        %x_0 = memref.load %t[%j_0] : memref<?xf64>
        %y_0 = arith.mulf %so_far_0, %x_0 : f64
        scf.yield %y_0 : f64
      }
      memref.store %r, %out[%i] : memref<?xf64>
      scf.reduce()
    } {adc.small_arrays = true, threads = true}
    scf.yield
  } else {
    scf.parallel (%i_0) = (%c0) to (%n) step (%c1) {
      %t_0 = memref.alloc(%m) : memref<?xf64>
      %s_0 = scf.for %j_1 = %c0 to %m step %c1 iter_args(%so_far_1 = %zero) -> (f64) {
        %x_1 = memref.load %a[%j_1, %i_0] : memref<?x?xf64>
        %y_1 = arith.addf %so_far_1, %x_1 : f64
        memref.store %y_1, %t_0[%j_1] : memref<?xf64>
        scf.yield %y_1 : f64
      }
      %r_0 = scf.for %j_2 = %c0 to %m step %c1 iter_args(%so_far_2 = %s_0) -> (f64) {
        %x_2 = memref.load %t_0[%j_2] : memref<?xf64>
        %y_2 = arith.mulf %so_far_2, %x_2 : f64
        scf.yield %y_2 : f64
      }
      memref.store %r_0, %out[%i_0] : memref<?xf64>
      scf.reduce()
    } {threads = true}
    scf.yield
  }
  func.return
}
