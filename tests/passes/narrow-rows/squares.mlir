// adc opt --passes=narrow-rows{few=8},tidy
// Distances of points with perhaps few coordinates: their squares are added in order if there are few, and vectorise-outer
// makes one SIMD loop over points of that.

func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %out: memref<?x?xf64>, %n: index, %k: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%c) = (%c0) to (%k) step (%c1) {
      %s = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
        %x = memref.load %a[%i, %j] : memref<?x?xf64>
        %z = memref.load %b[%c, %j] : memref<?x?xf64>
        %d = arith.subf %x, %z : f64
        %y = arith.mulf %d, %d : f64
        scf.reduce(%y : f64) {kinds = ["add"]}
      }
      memref.store %s, %out[%c, %i] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %out: memref<?x?xf64>, %n: index, %k: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c8 = arith.constant 8 : index
  %0 = arith.cmpi sle, %m, %c8 : index
  scf.if %0 {
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      scf.parallel (%c) = (%c0) to (%k) step (%c1) {
        %s = scf.for %j = %c0 to %m step %c1 iter_args(%arg0 = %zero) -> (f64) {
          %x = memref.load %a[%i, %j] : memref<?x?xf64>
          %z = memref.load %b[%c, %j] : memref<?x?xf64>
          %d = arith.subf %x, %z : f64
          %y = arith.mulf %d, %d : f64
          %1 = arith.addf %arg0, %y : f64
          scf.yield %1 : f64
        } {adc.unordered = true}
        memref.store %s, %out[%c, %i] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    } {threads = true}
    scf.yield
  } else {
    scf.parallel (%i_0) = (%c0) to (%n) step (%c1) {
      scf.parallel (%c_0) = (%c0) to (%k) step (%c1) {
        %s_0 = scf.parallel (%j_0) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
          %x_0 = memref.load %a[%i_0, %j_0] : memref<?x?xf64>
          %z_0 = memref.load %b[%c_0, %j_0] : memref<?x?xf64>
          %d_0 = arith.subf %x_0, %z_0 : f64
          %y_0 = arith.mulf %d_0, %d_0 : f64
          scf.reduce(%y_0 : f64) {kinds = ["add"]}
        }
        memref.store %s_0, %out[%c_0, %i_0] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    } {threads = true}
    scf.yield
  }
  func.return
}
