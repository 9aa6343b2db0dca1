// adc opt --passes=unswitch-loops
// Whether the lengths are equal is the same in every step: the loop is there twice, and asks once.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = memref.dim %y, 0 : memref<?xf64>
  %same = arith.cmpi eq, %n, %m : index
  scf.for %t = %c0 to %steps step %c1 {
    scf.if %same {
      scf.parallel (%i) = (%c0) to (%m) step (%c1) {
        %a = memref.load %x[%i] : memref<?xf64>
        %b = memref.load %y[%i] : memref<?xf64>
        %c = arith.mulf %a, %b : f64
        memref.store %c, %x[%i] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    } else {
      %b = memref.load %y[%c0] : memref<?xf64>
      scf.parallel (%i) = (%c0) to (%n) step (%c1) {
        %a = memref.load %x[%i] : memref<?xf64>
        %c = arith.mulf %a, %b : f64
        memref.store %c, %x[%i] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    } {adc.likely = true}
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %m = memref.dim %y, 0 : memref<?xf64>
  %same = arith.cmpi eq, %n, %m : index
  scf.if %same {
    scf.for %t = %c0 to %steps step %c1 {
      scf.parallel (%i) = (%c0) to (%n) step (%c1) {
        %a = memref.load %x[%i] : memref<?xf64>
        %b = memref.load %y[%i] : memref<?xf64>
        %c = arith.mulf %a, %b : f64
        memref.store %c, %x[%i] : memref<?xf64>
        scf.reduce()
      }
      scf.yield
    }
    scf.yield
  } else {
    scf.for %t_0 = %c0 to %steps step %c1 {
      scf.if %same {
        scf.parallel (%i_0) = (%c0) to (%m) step (%c1) {
          %a_0 = memref.load %x[%i_0] : memref<?xf64>
          %b_0 = memref.load %y[%i_0] : memref<?xf64>
          %c_0 = arith.mulf %a_0, %b_0 : f64
          memref.store %c_0, %x[%i_0] : memref<?xf64>
          scf.reduce()
        }
        scf.yield
      } else {
        %b_1 = memref.load %y[%c0] : memref<?xf64>
        scf.parallel (%i_1) = (%c0) to (%n) step (%c1) {
          %a_1 = memref.load %x[%i_1] : memref<?xf64>
          %c_1 = arith.mulf %a_1, %b_1 : f64
          memref.store %c_1, %x[%i_1] : memref<?xf64>
          scf.reduce()
        }
        scf.yield
      } {adc.likely = true}
      scf.yield
    }
    scf.yield
  } {adc.likely = true}
  func.return
}
